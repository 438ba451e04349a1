"""Avro container files, for writing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, BinaryIO

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError, SinkError
from penstock.common.serialization import BulkWriter, RowDataBulkWriterFactory
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.avro.library import fastavro
from penstock.connectors.avro.schema import AvroSchema
from penstock.connectors.avro.values import AvroRecords
from penstock.connectors.declared_rows import DeclaredRow, check_fits

_CODECS = ("null", "deflate", "bzip2", "snappy", "zstandard", "lz4", "xz")


class _AvroFileWriter(BulkWriter):
    def __init__(self, file: BinaryIO, schema: AvroSchema, codec: str) -> None:
        # The bytes between blocks are random where nobody says; the same records must give the same file.
        marker = blake2b(str(schema).encode(), digest_size=16).digest()
        self._writer: Any = fastavro().write.Writer(file, schema.parsed, codec=codec, sync_marker=marker)
        self._records = AvroRecords([field["name"] for field in schema.parsed["fields"]])

    def write(self, batch: Batch) -> None:
        for record in self._records.of(batch):
            self.write_record(record)

    def write_record(self, record: Any) -> None:
        try:
            self._writer.write(record)
        except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as problem:
            raise SinkError(f"the record {record!r} does not fit the Avro schema: {problem}") from problem

    def finish(self) -> None:
        self._writer.flush()


@dataclass(frozen=True)
class AvroWriters(RowDataBulkWriterFactory):
    """Avro container files; the schema is given, or made for the type of the records."""

    declared: DeclaredRow | None = None
    compression: str | None = None
    schema: AvroSchema | None = None

    suffix = ".avro"

    def __post_init__(self) -> None:
        if self.compression is not None and self.compression not in _CODECS:
            raise ConfigurationError(f"Avro files are compressed by {', '.join(_CODECS)}, got {self.compression!r}")

    def create(self, file: BinaryIO) -> BulkWriter:  # noqa: D102
        return _AvroFileWriter(file, self._known_schema(), self.compression or "deflate")

    def for_records(self, record_type: TypeInformation) -> AvroWriters:  # noqa: D102
        if self.schema is not None:
            return self
        check_fits("Avro", record_type, self.declared)
        declared = self.declared or DeclaredRow.of("Avro", record_type)
        return replace(self, schema=AvroSchema.of_row(declared), declared=declared)

    def get_row_type(self) -> TypeInformation:  # noqa: D102
        return self._known_schema().type_info

    def merge(self, inputs: Iterable[BinaryIO], output: BinaryIO) -> None:  # noqa: D102
        writer = _AvroFileWriter(output, self._known_schema(), self.compression or "deflate")
        for file in inputs:
            for record in fastavro().reader(file):
                writer.write_record(record)
        writer.finish()

    def _known_schema(self) -> AvroSchema:
        if self.schema is None:
            raise ConfigurationError("Avro: the schema is made for the type of the records, which is not known yet")
        return self.schema


def avro_writers_for(schema: AvroSchema) -> AvroWriters:
    """Writers of records that a schema describes."""
    if not isinstance(schema.parsed, dict) or schema.parsed.get("type") != "record":
        raise ConfigurationError(f"an Avro file of records needs the schema of a record, got {schema}")
    return AvroWriters(schema=schema)


def row_of(schema: AvroSchema) -> CompositeTypeInfo:
    """The type of rows that a schema of records describes."""
    type_info = schema.type_info
    if not isinstance(type_info, CompositeTypeInfo):
        raise ConfigurationError(f"expected the schema of a record, got {schema}")
    return type_info
