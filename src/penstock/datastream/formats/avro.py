"""Avro records, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.avro.bulk_writers import AvroBulkWriters
from penstock.connectors.avro.input_format import AvroInputFormat
from penstock.connectors.avro.registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from penstock.connectors.avro.rows import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSerializationSchema,
)
from penstock.connectors.avro.schema import AvroSchema, GenericRecordAvroTypeInfo

__all__ = [
    "AvroBulkWriters",
    "AvroDeserializationSchema",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "AvroSerializationSchema",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "GenericRecordAvroTypeInfo",
]
