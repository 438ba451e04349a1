"""Functions of lists and maps on columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.expressions.bound import Value


def columns_of(*values: Value) -> list[pa.Array]:
    """Values of which one at least is an array, all as arrays."""
    count = next(len(value) for value in values if isinstance(value, pa.Array))
    return [pa.repeat(value, count) if isinstance(value, pa.Scalar) else value for value in values]


def _bounds(lists: pa.Array) -> tuple[Any, Any]:
    """Where the elements of each list begin and end among all of them; those of a missing list are none."""
    offsets = lists.offsets.to_numpy()
    starts, ends = offsets[:-1], offsets[1:]
    if lists.null_count:
        ends = np.where(lists.is_null().to_numpy(zero_copy_only=False), starts, ends)
    return starts, ends


def sizes(value: pa.Array) -> pa.Array:
    """The number of elements."""
    starts, ends = _bounds(value)
    missing = value.is_null().to_numpy(zero_copy_only=False) if value.null_count else None
    return pa.array((ends - starts).astype(np.int64), mask=missing)


def elements_at(lists: Value, places: Value) -> pa.Array:
    """`list[place]`; null beyond its ends."""
    lists, places = columns_of(lists, places)
    starts, ends = _bounds(lists)
    wanted = places.fill_null(0).to_numpy()
    size = ends - starts
    inside = (wanted < size) & (wanted >= -size)
    if places.null_count:
        inside &= places.is_valid().to_numpy(zero_copy_only=False)
    taken = np.where(wanted < 0, ends, starts) + np.where(inside, wanted, 0)
    return lists.values.take(pa.array(taken, mask=~inside))


def flattened(lists: pa.Array) -> tuple[pa.Array, np.ndarray[Any, np.dtype[np.int64]]]:
    """All elements of all lists, and the number of the list that each is in."""
    starts, ends = _bounds(lists)
    size = (ends - starts).astype(np.int64)
    parents = np.repeat(np.arange(len(lists)), size)
    # Lists may lie anywhere among the elements, and with gaps.
    within = np.arange(len(parents)) - np.repeat(np.cumsum(size) - size, size)
    return lists.values.take(pa.array(np.repeat(starts, size) + within)), parents


def contained(lists: Value, value: Value, equal: Callable[[pa.Array, pa.Array], pa.Array]) -> pa.Array:
    """Whether a list has a value among its elements."""
    lists, value = columns_of(lists, value)
    elements, parents = flattened(lists)
    hits = parents[equal(elements, value.take(pa.array(parents))).fill_null(False).to_numpy(zero_copy_only=False)]
    found = np.bincount(hits, minlength=len(lists)) > 0
    missing = pc.or_(pc.is_null(lists), pc.is_null(value)).to_numpy(zero_copy_only=False)
    return pa.array(found, mask=missing)


def joined_elements(value: pa.Array, separator: str) -> pa.Array:
    """`separator.join(list)`; null where an element is."""
    return pc.binary_join(value, separator)


def values_of_key(value: pa.Array, key: pa.Scalar) -> pa.Array:
    """The value of a key of each map; null where there is none."""
    return pc.map_lookup(value, key, "first")


def lists_of(parts: list[pa.Array]) -> pa.Array:
    """A list per row of the values that columns have in it."""
    rows, width = len(parts[0]), len(parts)
    order = np.arange(rows * width).reshape(width, rows).T.ravel()
    offsets = np.arange(0, rows * width + 1, width, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.concat_arrays(parts).take(pa.array(order)))
