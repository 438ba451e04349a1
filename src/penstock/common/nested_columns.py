"""Columns of lists, rows and maps, and the columns inside of them."""

from __future__ import annotations

import pyarrow as pa


def columns_inside(column: pa.Array) -> list[pa.Array]:
    """Those that a column is made of, one level down; none where it has values of no parts."""
    if isinstance(column, pa.StructArray):
        return column.flatten()
    if isinstance(column, pa.MapArray):
        return [column.keys, column.items]
    if isinstance(column, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return [column.flatten()]
    return []
