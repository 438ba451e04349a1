"""Rows as CSV, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.csv.rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.connectors.csv.schema import CsvBulkWriters, CsvReaderFormat, CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
