"""Files of columns: Parquet, ORC, Arrow's own, and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet

from penstock.common.batch import Batch
from penstock.common.errors import UnsupportedError
from penstock.common.serialization import BulkWriter, RowDataBulkWriterFactory
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.declared_rows import DeclaredRow, check_fits, file_records
from penstock.connectors.gathered_batches import GatheredBatches

_ROW_GROUP_BYTES = 16 << 20


class _TableWriter(BulkWriter):
    """Collects records until they are worth a row group, and writes them to what `open_file` makes of their schema."""

    def __init__(self, factory: ColumnarWriters, file: BinaryIO) -> None:
        self._factory = factory
        self._file = file
        self._writer: Any = None
        self._waiting = GatheredBatches()

    def write(self, batch: Batch) -> None:
        self.write_records(file_records(batch, self._factory.declared))

    def write_records(self, records: pa.RecordBatch) -> None:
        self._waiting.append(records)
        if self._waiting.nbytes >= _ROW_GROUP_BYTES:
            self._write_table()

    def finish(self) -> None:
        if self._waiting:
            self._write_table()
        if self._writer is not None:
            self._writer.close()

    def _write_table(self) -> None:
        table = pa.Table.from_batches(self._waiting.take())
        if self._writer is None:
            self._writer = self._factory.open_file(pa.PythonFile(self._file, "w"), table.schema)
        self._factory.write_table(self._writer, table)


@dataclass(frozen=True)
class ColumnarWriters(RowDataBulkWriterFactory):
    """Files of columns; without a declared row their columns are the fields of the records."""

    declared: DeclaredRow | None = None
    compression: str | None = None
    record_type: TypeInformation | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    format_name = "columns"

    def create(self, file: BinaryIO) -> BulkWriter:  # noqa: D102
        return _TableWriter(self, file)

    def for_records(self, record_type: TypeInformation) -> ColumnarWriters:  # noqa: D102
        check_fits(self.format_name, record_type, self.declared)
        return replace(self, record_type=record_type)

    def get_row_type(self) -> TypeInformation:  # noqa: D102
        if self.declared is not None:
            return self.declared.type_info
        if self.record_type is None:
            raise UnsupportedError(f"{self.format_name}: the row type is that of the records, which are not known yet")
        return self.record_type

    def merge(self, inputs: Iterable[BinaryIO], output: BinaryIO) -> None:  # noqa: D102
        writer = _TableWriter(self, output)
        for file in inputs:
            for records in self.read_records(file):
                writer.write_records(records)
        writer.finish()

    def open_file(self, file: Any, schema: pa.Schema) -> Any:
        """Arrow's writer of the format."""
        raise NotImplementedError

    def write_table(self, writer: Any, table: pa.Table) -> None:
        """Writes one row group."""
        writer.write_table(table)

    def read_records(self, file: BinaryIO) -> Iterator[pa.RecordBatch]:
        """What a file of the format has."""
        raise NotImplementedError


@dataclass(frozen=True)
class ParquetWriters(ColumnarWriters):
    """Parquet with row groups of about 16 MB; Snappy unless told otherwise."""

    suffix = ".parquet"
    format_name = "Parquet"

    def open_file(self, file: Any, schema: pa.Schema) -> Any:  # noqa: D102
        return pyarrow.parquet.ParquetWriter(file, schema, compression=self.compression or "snappy", **self.options)

    def write_table(self, writer: Any, table: pa.Table) -> None:  # noqa: D102
        writer.write_table(table, row_group_size=table.num_rows)

    def read_records(self, file: BinaryIO) -> Iterator[pa.RecordBatch]:  # noqa: D102
        yield from pyarrow.parquet.ParquetFile(pa.PythonFile(file, "r")).iter_batches(use_threads=False)


@dataclass(frozen=True)
class OrcWriters(ColumnarWriters):
    """ORC; Zstandard unless told otherwise."""

    suffix = ".orc"
    format_name = "ORC"

    def open_file(self, file: Any, schema: pa.Schema) -> Any:  # noqa: D102
        return pyarrow.orc.ORCWriter(file, compression=(self.compression or "zstd").upper(), **self.options)

    def write_table(self, writer: Any, table: pa.Table) -> None:  # noqa: D102
        writer.write(table)

    def read_records(self, file: BinaryIO) -> Iterator[pa.RecordBatch]:  # noqa: D102
        reader = pyarrow.orc.ORCFile(pa.PythonFile(file, "r"))
        for stripe in range(reader.nstripes):
            yield reader.read_stripe(stripe)


@dataclass(frozen=True)
class ArrowWriters(ColumnarWriters):
    """Arrow's IPC files; not compressed unless told (`lz4`, `zstd`)."""

    suffix = ".arrow"
    format_name = "Arrow"

    def open_file(self, file: Any, schema: pa.Schema) -> Any:  # noqa: D102
        return pa.ipc.new_file(file, schema, options=pa.ipc.IpcWriteOptions(compression=self.compression))

    def read_records(self, file: BinaryIO) -> Iterator[pa.RecordBatch]:  # noqa: D102
        reader = pa.ipc.open_file(pa.PythonFile(file, "r"))
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


class _CsvWriter(BulkWriter):
    def __init__(self, file: BinaryIO, factory: CsvWriters) -> None:
        self._file = file
        self._factory = factory
        self._writer: pyarrow.csv.CSVWriter | None = None

    def write(self, batch: Batch) -> None:
        records = file_records(batch, self._factory.declared)
        if self._writer is None:
            for column in records.schema:
                if pa.types.is_nested(column.type):
                    raise UnsupportedError(f"field {column.name} of type {column.type} has no CSV form: write JSON")
            options = pyarrow.csv.WriteOptions(include_header=self._factory.header, delimiter=self._factory.delimiter)
            self._writer = pyarrow.csv.CSVWriter(pa.PythonFile(self._file, "w"), records.schema, write_options=options)
        assert self._writer is not None
        self._writer.write_batch(records)

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


@dataclass(frozen=True)
class CsvWriters(RowDataBulkWriterFactory):
    """Comma-separated values: texts are quoted, None is an empty field."""

    declared: DeclaredRow | None = None
    header: bool = False
    delimiter: str = ","
    record_type: TypeInformation | None = None

    suffix = ".csv"

    def create(self, file: BinaryIO) -> BulkWriter:  # noqa: D102
        return _CsvWriter(file, self)

    def for_records(self, record_type: TypeInformation) -> CsvWriters:  # noqa: D102
        check_fits("CSV", record_type, self.declared)
        return replace(self, record_type=record_type)

    def get_row_type(self) -> TypeInformation:  # noqa: D102
        if self.declared is not None:
            return self.declared.type_info
        if self.record_type is None:
            raise UnsupportedError("CSV: the row type is that of the records, which are not known yet")
        return self.record_type

    def merge(self, inputs: Iterable[BinaryIO], output: BinaryIO) -> None:
        """One file after the other; of the headers only the first stays."""
        for index, file in enumerate(inputs):
            # The names of columns are quoted when they have line ends, which Arrow's writer refuses: one line.
            first = b""
            while self.header and index and not first.endswith(b"\n"):
                block = file.read(1 << 16)
                if not block:
                    break
                first += block
                end = first.find(b"\n")
                if end >= 0:
                    output.write(first[end + 1 :])
                    break
            while block := file.read(1 << 20):
                output.write(block)
