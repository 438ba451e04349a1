"""Handles of one value per key, where values can be changed in place: state and its users share no object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.state.handle import StateHandle
from penstock.state.own_copy import ATOMS, own_copy
from penstock.state.value_handles import AggregatingHandle, ReducingHandle, ValueHandle


class CopiedValueHandle(ValueHandle):
    """`ValueState`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._unchanging: dict[bytes | None, Any] = {}
        """Values in the cache that cannot change, tuples of numbers say: found out once, not at every reading."""

    def value(self) -> Any:
        """The value; None when there is none."""
        key = self._owner.current_key
        try:
            value = self._cache[key]
        except KeyError:
            value = self._load()
        if type(value) in ATOMS or self._unchanging.get(key) is value:
            return value
        copied = own_copy(value)
        if copied is value:
            self._unchanging[key] = value
        return copied

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        super().flush()
        if len(self._unchanging) > len(self._cache):
            self._unchanging = {}

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        super().drop_caches()
        self._unchanging = {}

    def forget(self, key: bytes) -> None:
        """Drops what is cached of a key."""
        super().forget(key)
        self._unchanging.pop(key, None)

    def update(self, value: Any) -> None:
        """Sets the value; None removes it."""
        self._set(value if type(value) in ATOMS else self._owned(value))

    def fold(self, keys: Sequence[bytes], values: Iterable[Any], combine: Callable[[Any, Any], Any]) -> list[Any]:
        """Combines each value with what its key has, and keeps a copy of the result; returns the results.

        What is combined with is the state's own: a function that changes it and returns it changes no earlier result.
        """
        owner, cache = self._owner, self._cache
        results: list[Any] = []
        for key, value in zip(keys, values, strict=True):
            owner.current_key = key
            try:
                before = cache[key]
            except KeyError:
                before = self._load()
            result = value if before is None else combine(before, value)
            cache[key] = result if type(result) in ATOMS else self._owned(result)
            results.append(result)
        self._dirty.update(dict.fromkeys(keys))
        return results


class CopiedReducingHandle(ReducingHandle):
    """`ReducingState`."""

    def get(self) -> Any:
        """All values added, reduced to one; None when there are none."""
        return own_copy(super().get())

    def _set(self, value: Any) -> None:
        super()._set(self._owned(value))


class CopiedAggregatingHandle(AggregatingHandle):
    """`AggregatingState`: what is kept is the accumulator."""

    def _set(self, value: Any) -> None:
        super()._set(self._owned(value))

    def _accumulator(self) -> Any:
        return own_copy(super()._accumulator())


COPYING: dict[type[StateHandle], type[Any]] = {
    ValueHandle: CopiedValueHandle,
    ReducingHandle: CopiedReducingHandle,
    AggregatingHandle: CopiedAggregatingHandle,
}
