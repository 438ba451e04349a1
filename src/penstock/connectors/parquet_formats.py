"""Parquet with PyFlink's names: rows, and generic records of Avro."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.configuration import Configuration
from penstock.common.errors import UnsupportedError
from penstock.common.row import Row
from penstock.common.serialization import BulkWriter, BulkWriterFactory, RowDataBulkWriterFactory
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.avro.file_writers import row_of
from penstock.connectors.avro.schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.declared_rows import DeclaredRow, RowDescription
from penstock.connectors.files.chunk import FileChunk
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.parquet import ParquetFormat
from penstock.connectors.files.writers.columnar import OrcWriters, ParquetWriters


class ParquetColumnarRowInputFormat(ParquetFormat):
    """The rows of Parquet files, with their columns matched to the fields by name."""

    def __init__(
        self,
        row_type: RowDescription,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        """`batch_size` and `is_utc_timestamp` are taken for Flink's sake: a row has a datetime without a zone."""
        _known_settings(hadoop_config, {})
        super().__init__(row_type, case_sensitive=is_case_sensitive)


class ParquetBulkWriters:
    """Makes the writers of Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: RowDescription, hadoop_config: Configuration | None = None, utc_timestamp: bool = False
    ) -> BulkWriterFactory:
        """Writers of rows of a type: `Types.ROW_NAMED`, a dataclass, or DDL text such as `"id BIGINT, name STRING"`.

        Of the configuration `parquet.compression` counts; times are written as they are, without a zone.
        """
        settings = _known_settings(hadoop_config, {"parquet.compression": "compression"})
        compression = settings.get("compression")
        return ParquetWriters(
            DeclaredRow.of("ParquetBulkWriters.for_row_type", row_type),
            None if compression is None else compression.lower().replace("uncompressed", "none"),
        )


class OrcBulkWriters:
    """Makes the writers of ORC files."""

    @staticmethod
    def for_row_type(
        row_type: RowDescription,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> BulkWriterFactory:
        """Writers of rows of a type; of the properties `orc.compress` and `orc.stripe.size` count."""
        known = {"orc.compress": "compression", "orc.stripe.size": "stripe_size"}
        settings = _known_settings(hadoop_config, known) | _known_settings(writer_properties, known)
        compression = settings.pop("compression", None)
        options = {"stripe_size": int(settings["stripe_size"])} if "stripe_size" in settings else {}
        return OrcWriters(
            DeclaredRow.of("OrcBulkWriters.for_row_type", row_type),
            None if compression is None else compression.lower().replace("none", "uncompressed"),
            options=options,
        )


class AvroParquetReaders:
    """Makes formats that read Parquet files as generic records."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> FileFormat:
        """Each record is a dict of the schema's fields."""
        return _GenericRecordFormat(schema)


class AvroParquetWriters:
    """Makes the writers of Parquet files of generic records."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Each record is a dict of the schema's fields, or a row with as many."""
        declared = DeclaredRow(row_of(schema), _file_schema(schema))
        return _GenericRecordWriters(declared)


class _GenericRecordFormat(ParquetFormat):
    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(row_of(schema))
        self._rows = ParquetFormat(row_of(schema))
        self._schema = schema

    @property
    def produced_type(self) -> TypeInformation:
        return GenericRecordAvroTypeInfo(self._schema)

    def read_records(self, chunk: FileChunk, broken: BrokenRecords) -> Iterator[Batch]:
        codec = codec_for(self.produced_type)
        for batch in self._rows.read_records(chunk, broken):
            yield Batch(codec, values=[_generic(row) for row in batch.values])


class _GenericRecordWriter(BulkWriter):
    def __init__(self, writer: BulkWriter, declared: DeclaredRow) -> None:
        self._writer = writer
        self._codec = codec_for(declared.type_info)

    def write(self, batch: Batch) -> None:
        records = batch if batch.codec.schema is not None else Batch(self._codec, values=batch.values)
        self._writer.write(records)

    def finish(self) -> None:
        self._writer.finish()


@dataclass(frozen=True)
class _GenericRecordWriters(RowDataBulkWriterFactory):
    declared: DeclaredRow

    suffix = ".parquet"

    def create(self, file: BinaryIO) -> BulkWriter:
        return _GenericRecordWriter(ParquetWriters(self.declared).create(file), self.declared)

    def get_row_type(self) -> TypeInformation:
        return self.declared.type_info

    def merge(self, inputs: Iterable[BinaryIO], output: BinaryIO) -> None:
        ParquetWriters(self.declared).merge(inputs, output)


def _generic(value: Any) -> Any:
    match value:
        case Row():
            names = value.get_field_names() or []
            return {name: _generic(each) for name, each in zip(names, value, strict=True)}
        case list():
            return [_generic(each) for each in value]
        case dict():
            return {key: _generic(each) for key, each in value.items()}
        case _:
            return value


def _file_schema(schema: AvroSchema) -> pa.Schema:
    """Columns of the file: as of the rows, with decimals as decimals."""
    fields = row_of(schema).arrow_fields()
    for index, field in enumerate(schema.parsed["fields"]):
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        for kind in kinds:
            if isinstance(kind, dict) and kind.get("logicalType") == "decimal":
                fields[index] = fields[index].with_type(pa.decimal128(kind["precision"], kind.get("scale", 0)))
    return pa.schema(fields)


def _known_settings(configuration: Configuration | None, known: dict[str, str]) -> dict[str, str]:
    if configuration is None:
        return {}
    given = configuration.to_dict()
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise UnsupportedError(
            f"the settings {unknown} are of Flink's Java writers and readers; known here: {sorted(known) or 'none'}"
        )
    return {known[key]: value for key, value in given.items()}
