"""Rows as Protobuf messages."""

from __future__ import annotations

from penstock.connectors.protobuf.rows import ProtobufDeserializationSchema, ProtobufSerializationSchema

__all__ = ["ProtobufDeserializationSchema", "ProtobufSerializationSchema"]
