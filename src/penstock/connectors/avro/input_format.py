"""Avro files as an input, with PyFlink's name."""

from __future__ import annotations

from penstock.connectors.avro.file_format import AvroFormat
from penstock.connectors.avro.schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.input_format import InputFormat
from penstock.connectors.source import Source


class AvroInputFormat(InputFormat):
    """The records of Avro files, as dicts of the schema's fields: for `env.create_input`."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._path = path
        self._schema = schema

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """The type of the records."""
        return GenericRecordAvroTypeInfo(self._schema)

    def source(self) -> Source:  # noqa: D102
        return FileSource(self._path, AvroFormat(self._schema, as_generic_records=True))
