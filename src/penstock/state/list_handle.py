"""The handle of list state. A list is stored in parts, so that adding to a long one does not write it again.

The parts get shorter towards the end: when elements are added, parts that are not longer than what follows them are
joined with it. So a list of n elements has at most log n parts, and an element is written log n times at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from penstock.state.handle import ContainerHandle
from penstock.state.own_copy import own_copy
from penstock.state.state import ListState
from penstock.state.state_keys import end_of_prefix


class CachedList:
    """The list of one key."""

    __slots__ = ("elements", "part_sizes", "stored_parts")

    def __init__(self, elements: list[Any], part_sizes: list[int]) -> None:
        self.elements = elements
        self.part_sizes = part_sizes
        """How many elements each part in the store has, as far as these are still the first elements."""
        self.stored_parts = len(part_sizes)


class ListHandle(ContainerHandle[CachedList], ListState[Any]):
    """`ListState`."""

    _may_have_gaps = False
    """Whether parts in the middle may be missing: where elements expire, for instance."""

    def get(self) -> list[Any]:
        """The elements, in a list of the caller's own."""
        elements = self._current().elements
        return list(map(own_copy, elements) if self._copies else elements)

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        if type(value) is not self._expected:
            value = self._kept(value)
        self._changing().elements.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        kept = [self._kept(value) for value in values]
        self._changing().elements.extend(kept)

    def update(self, values: Iterable[Any]) -> None:
        """Replaces all elements."""
        self._replace([self._kept(value) for value in values])

    def clear(self) -> None:
        """Removes all elements."""
        cached = self._current()
        if cached.elements or cached.stored_parts:  # else nothing has to be written: most lists of a join are empty
            self._replace([])

    def _replace(self, elements: list[Any]) -> None:
        cached = self._changing()
        cached.elements = elements
        cached.part_sizes = []

    def _load(self, key: bytes) -> CachedList:
        elements: list[Any] = []
        sizes: list[int] = []
        for data in self._parts(self.keys_in_store.of(key)):
            part = self._serializer.loads_many(data)
            elements += part
            sizes.append(len(part))
        self._size += len(elements) + 1
        return CachedList(elements, sizes)

    def _parts(self, prefix: bytes) -> Iterator[bytes]:
        """What the store has of a list."""
        if self._may_have_gaps:
            for _, data in self._store.scan(prefix, end_of_prefix(prefix)):
                yield data
            return
        # Most lists have one part or none: to find each costs much less than to look for all in a range.
        for number in count():
            data = self._store.get(_part(prefix, number))
            if data is None:
                return
            yield data

    def _save(self, key: bytes, prefix: bytes, cached: CachedList) -> None:
        sizes, elements = cached.part_sizes, cached.elements
        start = sum(sizes)
        if start < len(elements):
            while sizes and sizes[-1] <= len(elements) - start:
                start -= sizes.pop()
            try:
                data = self._serializer.dumps_many(elements[start:])
            except Exception as error:
                raise self._cannot_save(key, elements, error) from error
            self._put(_part(prefix, len(sizes)), data)
            sizes.append(len(elements) - start)
            self._size += sizes[-1]
        for number in range(len(sizes), cached.stored_parts):
            self._store.delete(_part(prefix, number))
        cached.stored_parts = len(sizes)

    def _put(self, store_key: bytes, data: bytes) -> None:
        self._store.put(store_key, data)


def _part(prefix: bytes, number: int) -> bytes:
    return prefix + number.to_bytes(4, "big")
