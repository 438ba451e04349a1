"""`Row` and `RowKind` under the module path that PyFlink gives them."""

from __future__ import annotations

from penstock.common.row import Row, RowKind

__all__ = ["Row", "RowKind"]
