"""Iceberg tables."""

from __future__ import annotations

from penstock.connectors.tables.iceberg import IcebergSink, IcebergSource

__all__ = ["IcebergSink", "IcebergSource"]
