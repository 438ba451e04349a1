"""`NumberSequenceSource`, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
