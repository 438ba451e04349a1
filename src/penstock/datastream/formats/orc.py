"""ORC files, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.parquet_formats import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
