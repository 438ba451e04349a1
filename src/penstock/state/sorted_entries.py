"""Entries of a store, sorted by key, as columns: one epoch changes up to a million of them, and objects cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, overload

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.state.store import Entry

_PART = 50_000
_NUMBER_BYTES = 8


class SortedEntries(Sequence[Entry]):
    """A sequence of (key, value), None for the value of a deleted key; keys ascend."""

    def __init__(self, keys: pa.LargeBinaryArray, values: pa.LargeBinaryArray) -> None:
        self._keys = keys
        self._values = values

    @classmethod
    def of_changes(cls, changes: Mapping[bytes, bytes | None]) -> SortedEntries:
        """Entries in any order, sorted."""
        keys = pa.array(list(changes), pa.large_binary())
        order = _ascending(keys)
        return cls(keys.take(order), pa.array(list(changes.values()), pa.large_binary()).take(order))

    @classmethod
    def of_sorted(cls, entries: Iterable[Entry]) -> SortedEntries:
        """Entries that ascend already."""
        listed = list(entries)
        return cls(
            pa.array(map(itemgetter(0), listed), pa.large_binary(), size=len(listed)),
            pa.array(map(itemgetter(1), listed), pa.large_binary(), size=len(listed)),
        )

    @classmethod
    def joined(cls, parts: Sequence[SortedEntries]) -> SortedEntries:
        """Entries one part after the other; each part begins where the one before ends."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            pa.concat_arrays([part._keys for part in parts] or [pa.array([], pa.large_binary())]),
            pa.concat_arrays([part._values for part in parts] or [pa.array([], pa.large_binary())]),
        )

    @classmethod
    def decode(cls, body: memoryview, count: int) -> SortedEntries:
        """Entries as `encode` writes them. Raises ValueError for anything else: lengths are followed into memory."""
        if not 0 <= count <= len(body) // 8:
            raise ValueError(f"{count} entries are not in {len(body)} bytes")
        key_lengths = np.frombuffer(body, "<u4", count)
        value_lengths = np.frombuffer(body, "<i4", count, 4 * count)
        keys_end = 8 * count + int(key_lengths.sum(dtype=np.int64))
        if keys_end + int(np.maximum(value_lengths, 0).sum(dtype=np.int64)) != len(body):
            raise ValueError(f"the lengths of {count} entries do not add up to {len(body)} bytes")
        return cls(
            _binary_array(key_lengths, None, body[8 * count : keys_end]),
            _binary_array(np.maximum(value_lengths, 0), value_lengths >= 0, body[keys_end:]),
        )

    def encode(self) -> bytes:
        """u32 length of each key, i32 length of each value (-1: deleted), keys, values; little-endian."""
        key_lengths = pc.binary_length(self._keys).cast(pa.uint32())
        value_lengths = pc.fill_null(pc.binary_length(self._values), -1).cast(pa.int32())
        return b"".join(
            (
                key_lengths.to_numpy().astype("<u4", copy=False).tobytes(),
                value_lengths.to_numpy().astype("<i4", copy=False).tobytes(),
                _data(self._keys),
                _data(self._values),
            )
        )

    @property
    def size(self) -> int:
        """The bytes of all keys and values."""
        lengths = (pc.sum(pc.binary_length(column)).as_py() for column in (self._keys, self._values))
        return sum(length or 0 for length in lengths)

    @property
    def present(self) -> int:
        """How many entries are not deleted."""
        return len(self._values) - self._values.null_count

    @property
    def present_bytes(self) -> int:
        """The bytes of the keys and values of entries that are not deleted."""
        keys = self._keys.filter(self._values.is_valid()) if self._values.null_count else self._keys
        return SortedEntries(keys, self._values).size

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> SortedEntries: ...

    def __getitem__(self, index: int | slice) -> Entry | SortedEntries:
        if isinstance(index, slice):
            return SortedEntries(self._keys[index], self._values[index])
        return self._keys[index].as_py(), self._values[index].as_py()

    def __iter__(self) -> Iterator[Entry]:
        parts = (slice(at, at + _PART) for at in range(0, len(self), _PART))
        return chain.from_iterable(_entries(self._keys[part], self._values[part]) for part in parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<SortedEntries: {len(self)}>"


def _ascending(keys: pa.LargeBinaryArray) -> pa.Array:
    """The places of the keys in ascending order.

    Sorted as columns: the objects lie all over the memory, and to fetch each costs more than to compare it. As numbers,
    where that can be: keys of one length that differ in few bytes, like those of most states.
    """
    data, count = _data(keys), len(keys)
    length = len(data) // max(count, 1)
    if count > 1 and length and pc.all(pc.equal(pc.binary_length(keys), length)).as_py():
        table = np.frombuffer(data, np.uint8).reshape(count, length)
        differing = np.flatnonzero((table != table[0]).any(axis=0))
        if len(differing) <= _NUMBER_BYTES:
            numbers = np.zeros((count, _NUMBER_BYTES), np.uint8)
            numbers[:, _NUMBER_BYTES - len(differing) :] = table[:, differing]
            return pa.array(np.argsort(numbers.view(">u8").ravel().astype(np.uint64)))
    return pc.sort_indices(keys)


def _entries(keys: pa.Array, values: pa.Array) -> Iterator[Entry]:
    return zip(keys.to_pylist(), values.to_pylist(), strict=True)


def _binary_array(lengths: Any, present: Any, data: memoryview) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    validity = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers)


def _data(array: pa.Array) -> memoryview:
    """The bytes of all present values, one after the other."""
    _, offsets, data = array.buffers()
    if data is None:
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]
