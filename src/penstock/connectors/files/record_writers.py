"""How records are written into one file: one class per format, each streams and keeps little in memory."""

from __future__ import annotations

from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from penstock.common.batch import Batch
from penstock.common.errors import UnsupportedError
from penstock.connectors.json.encoding import json_lines

_ROW_GROUP_BYTES = 16 << 20


class RecordWriter(Protocol):
    """Writes batches into an open file."""

    def write(self, batch: Batch) -> None:
        """Takes records."""
        ...

    def finish(self) -> None:
        """Writes what is left; the file stays open."""
        ...


class JsonRecordWriter:
    """One JSON document per line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, batch: Batch) -> None:
        """Takes records."""
        self._file.write(json_lines(batch))

    def finish(self) -> None:
        """Nothing is left."""


class TextRecordWriter:
    """The text of each record, as `str` gives it, on a line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, batch: Batch) -> None:
        """Takes records."""
        self._file.write("".join([f"{value}\n" for value in batch.values]).encode())

    def finish(self) -> None:
        """Nothing is left."""


class CsvRecordWriter:
    """Comma-separated values: texts are quoted, None is an empty field."""

    def __init__(self, file: BinaryIO, *, header: bool, delimiter: str) -> None:
        self._file = file
        self._options = pyarrow.csv.WriteOptions(include_header=header, delimiter=delimiter)
        self._writer: pyarrow.csv.CSVWriter | None = None

    def write(self, batch: Batch) -> None:
        """Takes records."""
        records = _record_batch(batch, "CSV")
        if self._writer is None:
            for field in records.schema:
                if pa.types.is_nested(field.type):
                    raise UnsupportedError(f"field {field.name} of type {field.type} has no CSV form: write JSON")
            self._writer = pyarrow.csv.CSVWriter(
                pa.PythonFile(self._file, "w"), records.schema, write_options=self._options
            )
        assert self._writer is not None
        self._writer.write_batch(records)

    def finish(self) -> None:
        """Writes what is left."""
        if self._writer is not None:
            self._writer.close()


class ParquetRecordWriter:
    """Parquet with row groups of about 16 MB."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._writer: pyarrow.parquet.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    def write(self, batch: Batch) -> None:
        """Takes records."""
        records = _record_batch(batch, "Parquet")
        self._waiting.append(records)
        self._waiting_bytes += records.nbytes
        if self._waiting_bytes >= _ROW_GROUP_BYTES:
            self._write_row_group()

    def finish(self) -> None:
        """Writes what is left, and the footer."""
        if self._waiting:
            self._write_row_group()
        if self._writer is not None:
            self._writer.close()

    def _write_row_group(self) -> None:
        table = pa.Table.from_batches(self._waiting)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(pa.PythonFile(self._file, "w"), table.schema)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._waiting = []
        self._waiting_bytes = 0


def _record_batch(batch: Batch, format_name: str) -> pa.RecordBatch:
    schema = batch.codec.schema
    if schema is None:
        raise UnsupportedError(
            f"records of no declared type cannot be written as {format_name}: declare one before the sink, e.g. "
            "map(..., output_type=Types.ROW_NAMED(...))"
        )
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
