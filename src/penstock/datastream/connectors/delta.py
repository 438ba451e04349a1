"""Delta Lake tables."""

from __future__ import annotations

from penstock.connectors.tables.delta import DeltaSink, DeltaSource

__all__ = ["DeltaSink", "DeltaSource"]
