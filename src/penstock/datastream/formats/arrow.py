"""Arrow's IPC streams as messages."""

from __future__ import annotations

from penstock.connectors.arrow_messages import ArrowDeserializationSchema, ArrowSerializationSchema

__all__ = ["ArrowDeserializationSchema", "ArrowSerializationSchema"]
