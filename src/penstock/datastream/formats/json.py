"""Rows as JSON, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.connectors.json.rows import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = ["JsonDeserializationSchema", "JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
