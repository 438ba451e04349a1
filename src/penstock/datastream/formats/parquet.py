"""Parquet files and messages, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.arrow_messages import ParquetDeserializationSchema, ParquetSerializationSchema
from penstock.connectors.parquet_formats import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "ParquetDeserializationSchema",
    "ParquetSerializationSchema",
]
