"""Parquet."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.arrow_columns import WantedColumns, require_columns
from penstock.connectors.arrow_types import type_of_schema
from penstock.connectors.batches import MAX_BATCH_RECORDS, batches_of_columns
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.formats.file_format import BulkFormat, FileFormat
from penstock.connectors.files.formats.row_groups import may_fulfil
from penstock.connectors.source import FieldCondition


class ParquetFormat(BulkFormat):
    """The rows of Parquet files. Without a type, the schema of the first file is the type of all.

    With a type (`Types.ROW_NAMED`, a dataclass, a NamedTuple, DDL text) its fields are matched to the columns by name;
    other columns are not read.
    """

    def __init__(self, type_info: RowDescription | None = None, *, case_sensitive: bool = True) -> None:
        self._type_info = None if type_info is None else row_type_of("ParquetFormat", type_info)
        self._case_sensitive = case_sensitive
        self._fields: Sequence[str] | None = None
        """The fields that are read, where that is not all of them."""
        self._conditions: tuple[FieldCondition, ...] = ()
        """Row groups without a record that fulfils all of them are not read."""

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        if self._type_info is None:
            raise ConfigurationError("the type of these Parquet files is not known yet: pass type_info")
        return self._type_info

    @property
    def is_splittable(self) -> bool:  # noqa: D102
        return True

    def bytes_per_record(self, path: str) -> float | None:  # noqa: D102
        try:
            with file_system_of(path).open_input(path) as file:
                metadata = pyarrow.parquet.read_metadata(_arrow_file(file))
        except (OSError, pa.ArrowException):
            return None
        # As they lie in the file: that is what an epoch's share of it is measured by.
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        size = sum(group.column(index).total_compressed_size for group in groups for index in range(group.num_columns))
        return size / metadata.num_rows if metadata.num_rows else None

    def for_files(self, paths: Sequence[str]) -> FileFormat:  # noqa: D102
        if self._type_info is not None:
            return self
        if not paths:
            raise ConfigurationError("Parquet without files has no schema: pass type_info, or put a file there first")
        try:
            with file_system_of(paths[0]).open_input(paths[0]) as file:
                schema = pyarrow.parquet.read_schema(_arrow_file(file))
        except (OSError, pa.ArrowException) as problem:
            raise SourceError(f"{paths[0]}: cannot be read as Parquet: {problem}") from problem
        return ParquetFormat(type_of_schema(schema), case_sensitive=self._case_sensitive)

    def reading(self, fields: Sequence[str]) -> ParquetFormat:  # noqa: D102
        narrowed = copy.copy(self)
        narrowed._fields = list(fields)
        return narrowed

    def skipping(self, conditions: Sequence[FieldCondition]) -> ParquetFormat:  # noqa: D102
        if self._conditions == tuple(conditions):
            return self
        changed = copy.copy(self)
        changed._conditions = tuple(conditions)
        return changed

    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:
        """The row groups whose middle lies in the chunk: each is in one chunk, however the file is cut."""
        codec = codec_for(self.produced_type)
        assert codec.schema is not None
        with chunk.opened() as raw:
            try:
                # Spark's timestamps are INT96; as nanoseconds, Arrow's default, the year 9999 would overflow.
                file = pyarrow.parquet.ParquetFile(_arrow_file(raw), coerce_int96_timestamp_unit="us")
                conditions = [
                    (name, symbol, value)
                    for field, symbol, value in self._conditions
                    for name in self._names_in(file.schema_arrow, [field])
                ]
                groups = [
                    index
                    for index in range(file.metadata.num_row_groups)
                    if chunk.start <= _middle(file.metadata.row_group(index)) < chunk.end
                    and may_fulfil(file.metadata.row_group(index), conditions)
                ]
                expected = self._names_in(file.schema_arrow, codec.schema.names)
                require_columns(pa.schema([pa.field(name, pa.null()) for name in expected]), file.schema_arrow)
                wanted = WantedColumns(codec.schema, self._fields)
                names = self._names_in(file.schema_arrow, wanted.names)
                for records in file.iter_batches(
                    batch_size=MAX_BATCH_RECORDS, row_groups=groups, columns=names, use_threads=False
                ):
                    batch = records.select(names).rename_columns(wanted.names)
                    yield from batches_of_columns(codec, wanted.columns_of(batch))
            except SourceError as problem:
                raise SourceError(f"{chunk.path}: {problem}") from problem
            except pa.ArrowException as problem:
                raise SourceError(f"{chunk.path}: cannot be read as Parquet: {problem}") from problem

    def _names_in(self, schema: pa.Schema, names: Sequence[str]) -> list[str]:
        """What the file calls the fields."""
        if self._case_sensitive:
            return list(names)
        there = {name.lower(): name for name in schema.names}
        return [there.get(name.lower(), name) for name in names]


def _arrow_file(file: BinaryIO) -> pa.NativeFile:
    """The file as Arrow reads it by itself: through Python every column would be copied once more."""
    opened: object = file
    if isinstance(opened, pa.NativeFile):
        return opened
    # Whoever has opened it looks afterwards whether it is still the same.
    return pa.OSFile(opened.name) if isinstance(opened, io.FileIO) else pa.PythonFile(file, "r")


def _middle(group: pyarrow.parquet.RowGroupMetaData) -> int:
    columns = [group.column(index) for index in range(group.num_columns)]
    start = min(
        column.data_page_offset if column.dictionary_page_offset is None else column.dictionary_page_offset
        for column in columns
    )
    return start + sum(column.total_compressed_size for column in columns) // 2
