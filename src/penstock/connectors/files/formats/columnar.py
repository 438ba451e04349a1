"""ORC and Arrow files: read whole, part by part."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.orc

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.arrow_columns import WantedColumns, require_columns
from penstock.connectors.arrow_types import type_of_schema
from penstock.connectors.batches import batches_of_columns
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.formats.file_format import BulkFormat, FileFormat


class _ColumnarFormat(BulkFormat):
    """Without a type, the schema of the first file is the type of all; with one, fields are matched by name."""

    kind = ""

    def __init__(self, type_info: RowDescription | None = None) -> None:
        self._type_info: CompositeTypeInfo | None = None
        if type_info is not None:
            self._type_info = row_type_of(f"{self.kind} files", type_info)
        self._fields: Sequence[str] | None = None
        """The fields that are read, where that is not all of them."""

    @property
    def produced_type(self) -> TypeInformation:
        if self._type_info is None:
            raise ConfigurationError(f"the type of these {self.kind} files is not known yet: pass type_info")
        return self._type_info

    @property
    def is_splittable(self) -> bool:
        return False

    def for_files(self, paths: Sequence[str]) -> FileFormat:
        if self._type_info is not None:
            return self
        if not paths:
            raise ConfigurationError(
                f"{self.kind} without files has no schema: pass type_info, or put a file there first"
            )
        try:
            with file_system_of(paths[0]).open_input(paths[0]) as file:
                schema = self._schema(self._opened(file))
        except (OSError, pa.ArrowException) as problem:
            raise SourceError(f"{paths[0]}: cannot be read as {self.kind}: {problem}") from problem
        return type(self)(type_of_schema(schema))

    def reading(self, fields: Sequence[str]) -> FileFormat:
        narrowed = copy.copy(self)
        narrowed._fields = list(fields)
        return narrowed

    def bytes_per_record(self, path: str) -> float | None:
        try:
            with file_system_of(path).open_input(path) as file:
                rows = self._rows(self._opened(file))
            status = file_system_of(path).status(path)
        except (OSError, pa.ArrowException):
            return None
        return status.size / rows if rows and status is not None else None

    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:
        codec = codec_for(self.produced_type)
        assert codec.schema is not None
        with chunk.opened() as raw:
            try:
                reader = self._opened(raw)
                require_columns(codec.schema, self._schema(reader))
                wanted = WantedColumns(codec.schema, self._fields)
                for records in self._parts(reader, wanted.names):
                    yield from batches_of_columns(codec, wanted.columns_of(records))
            except SourceError as problem:
                raise SourceError(f"{chunk.path}: {problem}") from problem
            except pa.ArrowException as problem:
                raise SourceError(f"{chunk.path}: cannot be read as {self.kind}: {problem}") from problem

    @abstractmethod
    def _opened(self, file: BinaryIO) -> Any: ...

    @abstractmethod
    def _schema(self, reader: Any) -> pa.Schema: ...

    @abstractmethod
    def _rows(self, reader: Any) -> int: ...

    @abstractmethod
    def _parts(self, reader: Any, columns: list[str]) -> Iterator[pa.RecordBatch]: ...


class OrcFormat(_ColumnarFormat):
    """The rows of ORC files. Without a type, the schema of the first file is the type of all."""

    kind = "ORC"

    def _opened(self, file: BinaryIO) -> Any:
        return pyarrow.orc.ORCFile(pa.PythonFile(file, "r"))

    def _schema(self, reader: Any) -> pa.Schema:
        return reader.schema

    def _rows(self, reader: Any) -> int:
        return reader.nrows

    def _parts(self, reader: Any, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for stripe in range(reader.nstripes):
            yield reader.read_stripe(stripe, columns=columns)


class ArrowFormat(_ColumnarFormat):
    """The rows of Arrow's IPC files. Without a type, the schema of the first file is the type of all."""

    kind = "Arrow"

    def _opened(self, file: BinaryIO) -> Any:
        return pa.ipc.open_file(pa.PythonFile(file, "r"))

    def _schema(self, reader: Any) -> pa.Schema:
        return reader.schema

    def _rows(self, reader: Any) -> int:
        return sum(reader.get_batch(index).num_rows for index in range(reader.num_record_batches))

    def _parts(self, reader: Any, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)
