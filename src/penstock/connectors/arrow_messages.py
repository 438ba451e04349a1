"""Messages that are tables: Arrow's IPC streams and Parquet files, with any number of rows each."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import SourceError
from penstock.common.serialization import (
    DeserializationError,
    DeserializationSchema,
    SerializationSchema,
    Timestamps,
    with_values,
)
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.arrow_columns import columns_of
from penstock.connectors.declared_rows import RowDescription, row_type_of


class _TableDeserializationSchema(DeserializationSchema):
    """The rows of a message have its timestamp; columns are matched to the fields by name."""

    def __init__(self, type_info: RowDescription) -> None:
        self._type_info = row_type_of(type(self).__name__, type_info)

    @property
    def produced_type(self) -> TypeInformation:
        return self._type_info

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:
        present, times, places = with_values(messages, timestamps)
        codec = codec_for(self._type_info)
        parts: list[list[pa.Array]] = []
        stamps: list[int | None] = []
        for place, message, time in zip(places, present, times, strict=True):
            try:
                table = self._table(message)
                # Offsets are followed into memory, and text is taken for UTF-8: a damaged message may hold anything.
                table.validate(full=True)
                parts.append(columns_of(table, codec.schema))
            except (pa.ArrowException, OSError, UnicodeDecodeError, SourceError) as problem:
                raise DeserializationError(place, str(problem)) from None
            stamps += [time] * table.num_rows
        if not parts:
            return Batch(codec, columns=codec.to_columns([]), timestamps=[])
        columns = [pa.concat_arrays(of_field) for of_field in zip(*parts, strict=True)]
        return Batch(codec, columns=columns, timestamps=stamps)

    @abstractmethod
    def _table(self, message: bytes) -> pa.Table: ...


class ArrowDeserializationSchema(_TableDeserializationSchema):
    """Each message is an Arrow IPC stream."""

    def _table(self, message: bytes) -> pa.Table:
        with pa.ipc.open_stream(pa.py_buffer(message)) as reader:
            return reader.read_all()


class ParquetDeserializationSchema(_TableDeserializationSchema):
    """Each message is a Parquet file."""

    def _table(self, message: bytes) -> pa.Table:
        return pyarrow.parquet.read_table(pa.BufferReader(message))


class _TableSerializationSchema(SerializationSchema):
    def __init__(self, type_info: RowDescription) -> None:
        self._type_info = row_type_of(type(self).__name__, type_info)

    def serialize(self, element: Any) -> bytes:
        """A table of one row."""
        codec = codec_for(self._type_info)
        assert codec.schema is not None
        return self._bytes(pa.Table.from_arrays(codec.to_columns([element]), schema=codec.schema))

    @abstractmethod
    def _bytes(self, table: pa.Table) -> bytes: ...


class ArrowSerializationSchema(_TableSerializationSchema):
    """Each row is an Arrow IPC stream."""

    def _bytes(self, table: pa.Table) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()


class ParquetSerializationSchema(_TableSerializationSchema):
    """Each row is a Parquet file."""

    def _bytes(self, table: pa.Table) -> bytes:
        sink = io.BytesIO()
        pyarrow.parquet.write_table(table, sink)
        return sink.getvalue()
