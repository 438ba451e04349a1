"""What sources of tables share: the data files of a table, and those that are appended later."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, MutableMapping, Sequence

from penstock.common.batch import Batch
from penstock.common.errors import SourceError
from penstock.common.time import DurationLike, parse_duration
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.formats.parquet import ParquetFormat
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    FieldCondition,
    Json,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)

_POSITION = "position"
_PENDING = "pending"
DEFAULT_WATCH_INTERVAL = 1_000


class AppendedFiles(ABC):
    """The data files of a table, by what it calls its versions."""

    @abstractmethod
    def current(self) -> tuple[Json, list[str]]:
        """The version that is read first, and its files."""

    @abstractmethod
    def after(self, version: Json) -> tuple[Json, list[str]]:
        """The newest version, and the files that were appended since the given one."""


class TableSource(Source):
    """Reads the rows of a table: those of one version, and with `watch` also what is appended later."""

    def __init__(self, files: AppendedFiles, type_info: CompositeTypeInfo, watch: bool | DurationLike) -> None:
        self._files = files
        self._format = ParquetFormat(type_info)
        self._watch_interval: int | None = None
        if watch is not False:
            self._watch_interval = DEFAULT_WATCH_INTERVAL if watch is True else parse_duration(watch)

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED if self._watch_interval is None else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._format.produced_type

    def reading(self, fields: Sequence[str]) -> Source | None:  # noqa: D102
        narrowed = copy.copy(self)
        narrowed._format = self._format.reading(fields)
        return narrowed

    def skipping(self, conditions: Sequence[FieldCondition]) -> Source | None:  # noqa: D102
        changed = copy.copy(self)
        changed._format = self._format.skipping(conditions)
        return changed if changed._format is not self._format else None

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _TableEnumerator(self._files, None if context.bounded else self._watch_interval, context.state)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _TableReader(self._format)


class _TableEnumerator(SplitEnumerator):
    """Each data file is a split, read as a whole. State: the version that is known, and the files to read."""

    def __init__(self, files: AppendedFiles, watch_interval: int | None, state: MutableMapping[str, Json]) -> None:
        self._files = files
        self._watch_interval = watch_interval
        self._state = state
        self._next_look: int | None = None

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        if _POSITION not in self._state:
            self._take(*self._files.current())
        elif self._watch_interval is not None and (self._next_look is None or now >= self._next_look):
            self._take(*self._files.after(self._state[_POSITION]))
        if self._watch_interval is not None and (self._next_look is None or now >= self._next_look):
            self._next_look = now + self._watch_interval
        reads: list[SplitRead] = []
        pending: list[str] = self._state.get(_PENDING, [])
        size = 0
        while pending and (not reads or size < budget.max_bytes):
            path = pending[0]
            status = file_system_of(path).status(path)
            if status is None:
                raise SourceError(f"{path}: the table says that this data file is there, and it is not")
            chunk = FileChunk(path, 0, status.size, status.size, status.modified_ns)
            reads.append(SplitRead(path, 0, status.size, chunk.descriptor(), finishes=True, size=status.size))
            size += status.size
            pending = pending[1:]
        self._state[_PENDING] = pending
        return reads

    def is_exhausted(self) -> bool:
        return self._watch_interval is None and _POSITION in self._state and not self._state.get(_PENDING)

    def next_poll(self, now: int) -> int:
        return super().next_poll(now) if self._next_look is None else self._next_look

    def _take(self, version: Json, paths: Sequence[str]) -> None:
        self._state[_POSITION] = version
        self._state[_PENDING] = [*self._state.get(_PENDING, []), *paths]


class _TableReader(SplitReader):
    def __init__(self, file_format: ParquetFormat) -> None:
        self._format = file_format

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        yield from self._format.read(FileChunk.of_descriptor(read.descriptor))
        self.position = read.end
        self.finished = True
