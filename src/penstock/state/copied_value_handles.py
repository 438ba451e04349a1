"""Handles of one value per key, where values can be changed in place: state and its users share no object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.state.handle import StateHandle
from penstock.state.own_copy import ATOMS, own_copy
from penstock.state.value_handles import AggregatingHandle, ReducingHandle, ValueHandle


class CopiedValueHandle(ValueHandle):
    """`ValueState`."""

    def value(self) -> Any:
        """The value; None when there is none."""
        try:
            value = self._cache[self._owner.current_key]
        except KeyError:
            value = self._load()
        return value if type(value) in ATOMS else own_copy(value)

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
