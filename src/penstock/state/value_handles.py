"""Handles of state that is one value per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import length_hint
from typing import Any

from penstock.state.handle import CurrentKey, StateHandle
from penstock.state.state import AggregatingState, ReducingState, ValueState
from penstock.state.state_keys import StateKeys
from penstock.state.store import StateStore
from penstock.state.value_serializers import ValueSerializer


class SingleValueHandle(StateHandle):
    """The cache of values: None stands for a key that has none."""

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
        self._convert = serializer.convert
        self._cache: dict[bytes | None, Any] = {}
        self._dirty: dict[bytes, None] = {}

    def flush(self) -> None:
        """Writes what was set since the last time to the store."""
        cache = self._cache
        keys = list(self._dirty)
        values = [cache[key] for key in keys]
        self.store_values(keys, values)
        if len(cache) > self._cache_limit:
            # The keys of this epoch are the likeliest ones of the next.
            self._cache = {key: cache[key] for key in keys} if len(keys) <= self._cache_limit else {}
        self._dirty = {}

    def store_values(self, keys: list[bytes], values: list[Any]) -> None:
        """Sets what keys have in the store, past the cache."""
        self._store.put_all(zip(self.keys_in_store.of_all(keys), self._serialized(keys, values), strict=True))

    def _serialized(self, keys: list[bytes], values: list[Any]) -> list[bytes | None]:
        dumps, left = self._serializer.dumps, iter(values)
        try:
            return [None if value is None else dumps(value) for value in left]
        except Exception as error:
            place = len(values) - length_hint(left) - 1
            raise self._cannot_save(keys[place], values[place], error) from error

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._cache = {}
        self._dirty = {}

    def _load(self) -> Any:
        key = self._required_key()
        data = self._store.get(self.keys_in_store.of(key))
        value = self._cache[key] = None if data is None else self._serializer.loads(data)
        return value

    def kept(self, value: Any) -> Any:
        """The value as the state would give it back."""
        if type(value) is not self._expected and self._expected is not None:
            value = self._convert(value)
        return value

    def _set(self, value: Any) -> None:
        key = self._owner.current_key
        if key is None:
            key = self._required_key()
        # The same as `kept`, without the call: this runs for every record.
        if type(value) is not self._expected and self._expected is not None:
            value = self._convert(value)
        self._cache[key] = value
        self._dirty[key] = None


class ValueHandle(SingleValueHandle, ValueState[Any]):
    """`ValueState`."""

    def value(self) -> Any:
        """The value; None when there is none."""
        try:
            return self._cache[self._owner.current_key]
        except KeyError:
            return self._load()

    update = SingleValueHandle._set  # pyright: ignore[reportAssignmentType]

    def fold(self, keys: Sequence[bytes], values: Iterable[Any], combine: Callable[[Any, Any], Any]) -> list[Any]:
        """Combines each value with what its key has, and keeps the result; returns the results.

        The same as `value` and `update` for one key after the other, in one loop: it runs for every record.
        """
        owner, cache, expected = self._owner, self._cache, self._expected
        results: list[Any] = []
        add = results.append
        for key, value in zip(keys, values, strict=True):
            owner.current_key = key
            try:
                before = cache[key]
            except KeyError:
                before = self._load()
            result = value if before is None else combine(before, value)
            if expected is not None and type(result) is not expected:
                result = self._convert(result)
            cache[key] = result
            add(result)
        self._dirty.update(dict.fromkeys(keys))
        return results

    def stored_values(self, keys: Sequence[bytes]) -> list[Any]:
        """What keys have in the store, past the cache; None for those that have nothing."""
        get, loads = self._store.get, self._serializer.loads
        stored = map(get, self.keys_in_store.of_all(keys))
        return [None if data is None else loads(data) for data in stored]

    def clear(self) -> None:
        """Removes the value."""
        self._set(None)


class ReducingHandle(SingleValueHandle, ReducingState[Any]):
    """`ReducingState`."""

    reducer: Callable[[Any, Any], Any]

    def get(self) -> Any:
        """All values added, reduced to one; None when there are none."""
        try:
            return self._cache[self._owner.current_key]
        except KeyError:
            return self._load()

    def add(self, value: Any) -> None:
        """Combines a value with what is there."""
        current = self.get()
        self._set(value if current is None else self.reducer(current, value))

    def clear(self) -> None:
        """Removes the value."""
        self._set(None)


class AggregatingHandle(SingleValueHandle, AggregatingState[Any, Any]):
    """`AggregatingState`: what is kept is the accumulator."""

    function: Any

    def get(self) -> Any:
        """The aggregate function's result; None when nothing was added."""
        accumulator = self._accumulator()
        return None if accumulator is None else self.function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Adds a value to the accumulator."""
        accumulator = self._accumulator()
        if accumulator is None:
            accumulator = self.function.create_accumulator()
        self._set(self.function.add(value, accumulator))

    @property
    def accumulator(self) -> Any:
        """The accumulator; None when nothing was added."""
        return self._accumulator()

    def merge(self, accumulator: Any) -> None:
        """Merges another accumulator into the one that is there."""
        here = self._accumulator()
        self._set(accumulator if here is None else self.function.merge(here, accumulator))

    def clear(self) -> None:
        """Removes the accumulator."""
        self._set(None)

    def _accumulator(self) -> Any:
        try:
            return self._cache[self._owner.current_key]
        except KeyError:
            return self._load()
