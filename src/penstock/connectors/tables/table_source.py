"""What sources of tables share: the data files of a table, and those that are appended later."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import SourceError, UnsupportedError
from penstock.common.time import DurationLike, parse_duration
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation, Types
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
_CHUNK = "chunk"
_CONSTANTS = "constants"
DEFAULT_WATCH_INTERVAL = 1_000


class DataFile(NamedTuple):
    """A file with rows of a table."""

    path: str
    constants: Mapping[str, str | None] = {}
    """Columns that are not in the file because all its rows have the same value, as text: those of the partition."""


class AppendedFiles(ABC):
    """The data files of a table, by what it calls its versions."""

    @abstractmethod
    def current(self) -> tuple[Json, list[DataFile]]:
        """The version that is read first, and its files."""

    @abstractmethod
    def after(self, version: Json) -> tuple[Json, list[DataFile]]:
        """The newest version, and the files that were appended since the given one."""


class TableSource(Source):
    """Reads the rows of a table: those of one version, and with `watch` also what is appended later."""

    def __init__(
        self,
        files: AppendedFiles,
        type_info: CompositeTypeInfo,
        watch: bool | DurationLike,
        partition_columns: Collection[str] = (),
    ) -> None:
        """`partition_columns` are those that data files do not have."""
        self._files = files
        self._type = type_info
        self._partition_columns = frozenset(partition_columns)
        self._format = ParquetFormat(_without(type_info, self._partition_columns))
        self._watch_interval: int | None = None
        if watch is not False:
            self._watch_interval = DEFAULT_WATCH_INTERVAL if watch is True else parse_duration(watch)

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED if self._watch_interval is None else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type

    def reading(self, fields: Sequence[str]) -> Source | None:  # noqa: D102
        if self._partition_columns:
            return None
        narrowed = copy.copy(self)
        narrowed._format = self._format.reading(fields)
        return narrowed

    def skipping(self, conditions: Sequence[FieldCondition]) -> Source | None:  # noqa: D102
        changed = copy.copy(self)
        changed._format = self._format.skipping([each for each in conditions if each[0] not in self._partition_columns])
        return changed if changed._format is not self._format else None

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _TableEnumerator(self._files, None if context.bounded else self._watch_interval, context.state)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _TableReader(self._format, self._type)


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
        pending: list[Json] = self._state.get(_PENDING, [])
        size = 0
        while pending and (not reads or size < budget.max_bytes):
            path, constants = pending[0]
            status = file_system_of(path).status(path)
            if status is None:
                raise SourceError(f"{path}: the table says that this data file is there, and it is not")
            chunk = FileChunk(path, 0, status.size, status.size, status.modified_ns)
            descriptor = {_CHUNK: chunk.descriptor(), _CONSTANTS: constants}
            reads.append(SplitRead(path, 0, status.size, descriptor, finishes=True, size=status.size))
            size += status.size
            pending = pending[1:]
        self._state[_PENDING] = pending
        return reads

    def is_exhausted(self) -> bool:
        return self._watch_interval is None and _POSITION in self._state and not self._state.get(_PENDING)

    def next_poll(self, now: int) -> int:
        return super().next_poll(now) if self._next_look is None else self._next_look

    def _take(self, version: Json, files: Sequence[DataFile]) -> None:
        self._state[_POSITION] = version
        added = [[file.path, dict(file.constants)] for file in files]
        self._state[_PENDING] = [*self._state.get(_PENDING, []), *added]


class _TableReader(SplitReader):
    def __init__(self, file_format: ParquetFormat, type_info: CompositeTypeInfo) -> None:
        self._format = file_format
        self._codec = codec_for(type_info)
        self._names = type_info.get_field_names()
        self._types = dict(zip(self._names, type_info.get_field_types(), strict=True))

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        chunk = FileChunk.of_descriptor(read.descriptor[_CHUNK])
        constants = {
            name: pa.scalar(text, pa.string()).cast(self._types[name].column_type())
            for name, text in read.descriptor[_CONSTANTS].items()
            if name in self._types
        }
        for batch in self._format.read(chunk):
            yield batch if not constants else self._with_constants(batch, constants)
        self.position = read.end
        self.finished = True

    def _with_constants(self, batch: Batch, constants: Mapping[str, pa.Scalar]) -> Batch:
        columns = iter(batch.columns)
        whole = [pa.repeat(constants[n], len(batch)) if n in constants else next(columns) for n in self._names]
        return Batch(self._codec, columns=whole)


def _without(type_info: CompositeTypeInfo, names: Collection[str]) -> CompositeTypeInfo:
    fields = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    kept = [(name, each) for name, each in fields if name not in names]
    if len(kept) == len(type_info.get_field_names()):
        return type_info
    if not kept:
        raise UnsupportedError("a table is read with at least one column that is not one of its partition")
    return Types.ROW_NAMED([name for name, _ in kept], [each for _, each in kept])
