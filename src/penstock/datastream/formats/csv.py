"""Rows as CSV, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.csv.rows import CsvRowDeserializationSchema, CsvRowSerializationSchema

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]
