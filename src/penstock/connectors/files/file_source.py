"""Reads files: those that are there, or those that keep coming."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError
from penstock.common.time import DurationLike, parse_duration
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.enumerator import FileEnumerator
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.listing import list_files
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)

DEFAULT_WATCH_INTERVAL = "1 s"
DEFAULT_SETTLE = "1 s"


class FileSource(Source):
    """Reads the files under some paths: files, directories or glob patterns on a local or mounted file system.

    Bounded by default: the files that are there when the job starts, oldest first. With `watch` (True, or the
    time between two looks, e.g. "10 s") also those that appear later, for ever; each file is read once. A file must
    not change after it was listed: that, and a file that vanishes before it was read, fails the job with a
    `SourceError` that names it. To be safe from files that are still being written, a watched file is taken only when
    it has not changed for the time `settle`, or between two looks; with 0 it is taken at once, for writers that rename
    complete files into place. Names with a leading `.` or `_` are hidden.

    Files that end in .gz, .bz2, .zst or .lz4 are decompressed.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        file_format: FileFormat,
        *,
        watch: bool | DurationLike = False,
        recursive: bool = False,
        settle: DurationLike = DEFAULT_SETTLE,
    ) -> None:
        self._paths = [paths] if isinstance(paths, str) else list(paths)
        if not self._paths:
            raise ConfigurationError("a file source needs at least one path")
        self._watch_interval: int | None = None
        if watch is not False:
            self._watch_interval = parse_duration(DEFAULT_WATCH_INTERVAL if watch is True else watch)
        self._recursive = recursive
        self._settle_ms = parse_duration(settle)
        # Listed here too, so that a wrong path fails at the user's line.
        listed = list_files(self._paths, recursive=recursive)
        self._format = file_format.for_files([file.path for file in listed])

    @staticmethod
    def for_record_stream_format(stream_format: FileFormat, *paths: str) -> FileSourceBuilder:
        """A builder of a source that reads `paths` in this format."""
        return FileSourceBuilder(stream_format, paths)

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED if self._watch_interval is None else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._format.produced_type

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return FileEnumerator(
            self._paths,
            self._format,
            recursive=self._recursive,
            watch_interval=None if context.bounded else self._watch_interval,
            settle_ms=self._settle_ms,
            state=context.state,
        )

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _FileReader(self._format)

    def describe(self) -> str:  # noqa: D102
        kind = type(self._format).__name__.removesuffix("Format")
        watched = "" if self._watch_interval is None else ", watched"
        return f"{kind} files in {', '.join(self._paths)}{watched}"


class FileSourceBuilder:
    """Builds a `FileSource` with PyFlink's names; bounded unless told otherwise."""

    def __init__(self, file_format: FileFormat, paths: Sequence[str]) -> None:
        self._format = file_format
        self._paths = paths
        self._watch: bool | DurationLike = False

    def monitor_continuously(self, discovery_interval: DurationLike) -> FileSourceBuilder:
        """Looks for new files again and again, with this time between two looks."""
        self._watch = parse_duration(discovery_interval)
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Reads the files that are there when the job starts."""
        self._watch = False
        return self

    def build(self) -> FileSource:
        """The source."""
        return FileSource(self._paths, self._format, watch=self._watch)


class _FileReader(SplitReader):
    def __init__(self, file_format: FileFormat) -> None:
        self._format = file_format

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        yield from self._format.read(FileChunk.of_descriptor(read.descriptor))
        self.position = read.end
        self.finished = True
