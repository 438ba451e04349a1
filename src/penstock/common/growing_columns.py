"""Columns that get longer, and columns in one piece."""

from __future__ import annotations

import pyarrow as pa

_MOST_CHUNKS = 8


class GrowingColumn:
    """Values that are added at the end and taken by their places.

    Few pieces are kept: taking from many is slow, and joining them at every addition would copy all of them.
    """

    __slots__ = ("_values",)

    def __init__(self, column_type: pa.DataType) -> None:
        self._values = pa.chunked_array([], column_type)

    def add(self, values: pa.Array) -> None:
        """Adds values at the end."""
        chunks = [*self._values.chunks, values]
        self._values = pa.chunked_array([pa.concat_arrays(chunks)] if len(chunks) > _MOST_CHUNKS else chunks)

    def at(self, places: pa.Array) -> pa.Array:
        """The values at some places."""
        return one_array(self._values.take(places))


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values in one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
