"""Reads files: those that are there, or those that keep coming."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError
from penstock.common.time import DurationLike, parse_duration
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.broken_records import FAIL, SKIP, BrokenRecords, OnError, checked_on_error
from penstock.connectors.files.chunk import FileChunk, MissingFileError
from penstock.connectors.files.enumerator import FileEnumerator
from penstock.connectors.files.enumerator_providers import FileEnumeratorProvider, FileSplitAssignerProvider
from penstock.connectors.files.formats.file_format import BulkFormat, FileFormat
from penstock.connectors.files.listing import list_files
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    FieldCondition,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.functions.output_tag import OutputTag

DEFAULT_WATCH_INTERVAL = "1 s"
DEFAULT_SETTLE = "1 s"
_LOGGER = logging.getLogger("penstock.files")


class FileSource(Source):
    """Reads the files under some paths: files, directories or glob patterns.

    They may be on a local or mounted file system, or on any that pyarrow or fsspec knows (`s3://`, `hdfs://`, `gs://`).
    Bounded by default: the files that are there when the job starts, oldest first. With `watch` (True, or the
    time between two looks, e.g. "10 s") also those that appear later, for ever; each file is read once. A file must
    not change after it was listed: that, and a file that vanishes before it was read, fails the job with a
    `SourceError` that names it; with `missing="skip"` a file that has vanished is skipped. To be safe from files that
    are still being written, a watched file is taken only when it has not changed for the time `settle`, or between two
    looks; with 0 it is taken at once, for writers that rename complete files into place. Names with a leading `.` or
    `_`, or ending in `.inprogress`, `.tmp` or `._COPYING_`, are hidden.

    Files that end in .gz, .bz2, .zst, .lz4, .xz or .deflate are decompressed.

    `on_error` says what becomes of lines and CSV rows that cannot be read: `"fail"`; `"skip"`, which counts them in the
    metric `num_records_in_errors`; or an `OutputTag` of the type `BROKEN_RECORD_TYPE`: then
    `stream.get_side_output(tag)` has their bytes, positions and reasons.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        file_format: FileFormat,
        *,
        watch: bool | DurationLike = False,
        recursive: bool = False,
        settle: DurationLike = DEFAULT_SETTLE,
        on_error: OnError = FAIL,
        missing: str = FAIL,
        splits_files: bool = True,
    ) -> None:
        self._paths = [paths] if isinstance(paths, str) else list(paths)
        if not self._paths:
            raise ConfigurationError("a file source needs at least one path")
        self._watch_interval: int | None = None
        if watch is not False:
            self._watch_interval = parse_duration(DEFAULT_WATCH_INTERVAL if watch is True else watch)
        self._recursive = recursive
        self._settle_ms = parse_duration(settle)
        self._on_error = checked_on_error(on_error)
        if missing not in (FAIL, SKIP):
            raise ConfigurationError(f'missing: expected "fail" or "skip", got {missing!r}')
        self._skips_missing = missing == SKIP
        self._splits_files = splits_files
        # Listed here too, so that a wrong path fails at the user's line.
        listed = list_files(self._paths, recursive=recursive)
        self._format = file_format.for_files([file.path for file in listed])

    @staticmethod
    def for_record_stream_format(stream_format: FileFormat, *paths: str) -> FileSourceBuilder:
        """A builder of a source that reads `paths` in this format."""
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """A builder of a source that reads `paths` in a format such as Parquet."""
        return FileSourceBuilder(bulk_format, paths)

    @property
    def broken_records_tag(self) -> OutputTag | None:  # noqa: D102
        return self._on_error if isinstance(self._on_error, OutputTag) else None

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
            splits_files=self._splits_files,
            state=context.state,
        )

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _FileReader(self._format, self._on_error, skips_missing=self._skips_missing)

    def reading(self, fields: Sequence[str]) -> Source | None:  # noqa: D102
        return self._in_format(self._format.reading(fields))

    def skipping(self, conditions: Sequence[FieldCondition]) -> Source | None:  # noqa: D102
        return self._in_format(self._format.skipping(conditions))

    def _in_format(self, file_format: FileFormat | None) -> Source | None:
        if file_format is None or file_format is self._format:
            return None
        changed = copy.copy(self)
        changed._format = file_format
        return changed

    def describe(self) -> str:  # noqa: D102
        kind = type(self._format).__name__.removesuffix("Format")
        watched = "" if self._watch_interval is None else ", watched"
        return f"{kind} files in {', '.join(self._paths)}{watched}"


class FileSourceBuilder:
    """Builds a `FileSource` with PyFlink's names; bounded unless told otherwise. Sub-directories are read too."""

    def __init__(self, file_format: FileFormat, paths: Sequence[str]) -> None:
        self._format = file_format
        self._paths = paths
        self._watch: bool | DurationLike = False
        self._enumerator = FileEnumeratorProvider.default_splittable_file_enumerator()
        self._on_error: OnError = FAIL
        self._missing = FAIL
        self._settle: DurationLike = DEFAULT_SETTLE

    def monitor_continuously(self, discovery_interval: DurationLike) -> FileSourceBuilder:
        """Looks for new files again and again, with this time between two looks."""
        self._watch = parse_duration(discovery_interval)
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Reads the files that are there when the job starts."""
        self._watch = False
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Sets whether large files are cut into parts."""
        self._enumerator = file_enumerator
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Takes Flink's assigner; there is only one."""
        return self

    def set_on_error(self, on_error: OnError) -> FileSourceBuilder:
        """Sets what becomes of records that cannot be read: `"fail"`, `"skip"` or the tag of a side output."""
        self._on_error = on_error
        return self

    def set_missing(self, missing: str) -> FileSourceBuilder:
        """Sets what becomes of files that vanish before they are read: `"fail"` or `"skip"`."""
        self._missing = missing
        return self

    def set_settle(self, settle: DurationLike) -> FileSourceBuilder:
        """Sets how long a watched file must not have changed before it is read."""
        self._settle = settle
        return self

    def build(self) -> FileSource:
        """The source."""
        return FileSource(
            self._paths,
            self._format,
            watch=self._watch,
            recursive=True,
            settle=self._settle,
            on_error=self._on_error,
            missing=self._missing,
            splits_files=self._enumerator.splits_files,
        )


class _FileReader(SplitReader):
    def __init__(self, file_format: FileFormat, on_error: OnError, *, skips_missing: bool) -> None:
        self._format = file_format
        self._skips_missing = skips_missing
        self.broken_records = BrokenRecords(on_error)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        chunk = FileChunk.of_descriptor(read.descriptor)
        try:
            yield from self._format.read(chunk, self.broken_records)
        except MissingFileError:
            if not self._skips_missing:
                raise
            _LOGGER.warning("%s has vanished before it was read, and is skipped", chunk.path)
        self.position = read.end
        self.finished = True
