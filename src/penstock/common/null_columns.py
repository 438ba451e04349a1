"""Columns of nothing but None, in the place of fields that nobody reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

_KEPT = 1 << 16


def null_column(count: int, column_type: pa.DataType) -> pa.Array:
    """So many times None; columns of up to 65,536 share their memory."""
    return _kept(column_type).slice(0, count) if count <= _KEPT else pa.nulls(count, column_type)


@lru_cache(maxsize=64)
def _kept(column_type: pa.DataType) -> pa.Array:
    return pa.nulls(_KEPT, column_type)


def filtered_columns(columns: Sequence[pa.Array], mask: pa.Array) -> list[pa.Array]:
    """The values at the places where the mask is true; of columns of None only their number matters."""
    kept = mask.true_count
    return [column.slice(0, kept) if column.null_count == len(column) else column.filter(mask) for column in columns]


def widened(columns: Sequence[pa.Array], places: Sequence[int], schema: pa.Schema) -> list[pa.Array]:
    """All columns of a schema, of which some are given, with their places in it."""
    given = dict(zip(places, columns, strict=True))
    count = len(columns[0])
    return [given[place] if place in given else null_column(count, field.type) for place, field in enumerate(schema)]
