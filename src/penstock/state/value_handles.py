"""Handles of state that is one value per key."""

from __future__ import annotations

from collections.abc import Callable
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
        cache, dumps = self._cache, self._serializer.dumps
        put, delete = self._store.put, self._store.delete
        keys = list(self._dirty)
        for key, store_key in zip(keys, self.keys_in_store.of_all(keys), strict=True):
            value = cache[key]
            if value is None:
                delete(store_key)
            else:
                try:
                    data = dumps(value)
                except Exception as error:
                    raise self._cannot_save(key, value, error) from error
                put(store_key, data)
        if len(cache) > self._cache_limit:
            # The keys of this epoch are the likeliest ones of the next.
            self._cache = {key: cache[key] for key in keys} if len(keys) <= self._cache_limit else {}
        self._dirty = {}

    def drop_caches(self) -> None:
        """Forgets everything, what was set too."""
        self._cache = {}
        self._dirty = {}

    def _load(self) -> Any:
        key = self._required_key()
        data = self._store.get(self.keys_in_store.of(key))
        value = self._cache[key] = None if data is None else self._serializer.loads(data)
        return value

    def _set(self, value: Any) -> None:
        key = self._owner.current_key
        if key is None:
            key = self._required_key()
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

    def clear(self) -> None:
        """Removes the accumulator."""
        self._set(None)

    def _accumulator(self) -> Any:
        try:
            return self._cache[self._owner.current_key]
        except KeyError:
            return self._load()
