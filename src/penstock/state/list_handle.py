"""The handle of list state. A list is stored in parts, so that adding to a long one does not write it again.

The parts get shorter towards the end: when elements are added, parts that are not longer than what follows them are
joined with it. So a list of n elements has at most log n parts, and an element is written log n times at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.state.handle import CurrentKey, StateHandle
from penstock.state.state import ListState
from penstock.state.state_keys import StateKeys, end_of_prefix
from penstock.state.store import StateStore
from penstock.state.value_serializers import ValueSerializer


class _CachedList:
    __slots__ = ("elements", "part_sizes", "stored_parts")

    def __init__(self, elements: list[Any], part_sizes: list[int]) -> None:
        self.elements = elements
        self.part_sizes = part_sizes
        """How many elements each part in the store has, as far as these are still the first elements."""
        self.stored_parts = len(part_sizes)


class ListHandle(StateHandle, ListState[Any]):
    """`ListState`."""

    def __init__(
        self,
        name: str,
        owner: CurrentKey,
        store: StateStore,
        keys: StateKeys,
        cache_limit: int,
        serializer: ValueSerializer,
    ) -> None:
        super().__init__(name, owner, store, keys, cache_limit)
        self._serializer = serializer
        self._expected = serializer.expected
        self._cache: dict[bytes | None, _CachedList] = {}
        self._dirty: dict[bytes, None] = {}
        self._size = 0
        """The elements in the cache, roughly."""

    def get(self) -> list[Any]:
        """The elements, in a list of the caller's own."""
        return list(self._current().elements)

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        if type(value) is not self._expected and self._expected is not None:
            value = self._serializer.convert(value)
        self._changing().elements.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        self._changing().elements.extend(map(self._serializer.convert, values))

    def update(self, values: Iterable[Any]) -> None:
        """Replaces all elements."""
        elements = list(map(self._serializer.convert, values))
        cached = self._changing()
        cached.elements = elements
        cached.part_sizes = []

    def clear(self) -> None:
        """Removes all elements."""
        self.update(())

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        keys = list(self._dirty)
        for key, prefix in zip(keys, self.keys_in_store.of_all(keys), strict=True):
            cached = self._cache[key]
            try:
                self._save(prefix, cached)
            except Exception as error:
                raise self._cannot_save(key, cached.elements, error) from error
            self._size += cached.part_sizes[-1] if cached.part_sizes else 0
        if self._size > self._cache_limit:
            self._cache = {}
            self._size = 0
        self._dirty = {}

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._cache = {}
        self._dirty = {}
        self._size = 0

    def _save(self, prefix: bytes, cached: _CachedList) -> None:
        sizes, elements = cached.part_sizes, cached.elements
        start = sum(sizes)
        if start < len(elements):
            while sizes and sizes[-1] <= len(elements) - start:
                start -= sizes.pop()
            self._store.put(_part(prefix, len(sizes)), self._serializer.dumps_many(elements[start:]))
            sizes.append(len(elements) - start)
        for number in range(len(sizes), cached.stored_parts):
            self._store.delete(_part(prefix, number))
        cached.stored_parts = len(sizes)

    def _current(self) -> _CachedList:
        try:
            return self._cache[self._owner.current_key]
        except KeyError:
            key = self._required_key()
        prefix = self.keys_in_store.of(key)
        elements: list[Any] = []
        sizes: list[int] = []
        for _, data in self._store.scan(prefix, end_of_prefix(prefix)):
            part = self._serializer.loads_many(data)
            elements += part
            sizes.append(len(part))
        self._size += len(elements) + 1
        cached = self._cache[key] = _CachedList(elements, sizes)
        return cached

    def _changing(self) -> _CachedList:
        key = self._owner.current_key
        cached = self._cache.get(key) or self._current()
        self._dirty[key] = None  # type: ignore[index]
        return cached


def _part(prefix: bytes, number: int) -> bytes:
    return prefix + number.to_bytes(4, "big")
