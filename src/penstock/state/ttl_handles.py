"""Handles of state whose values expire: the handles of plain state over pairs of the last use and the value.

What reading and writing expired values does is as in Flink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.state.handle import StateHandle
from penstock.state.list_handle import ListHandle
from penstock.state.map_handle import MapHandle
from penstock.state.state_keys import key_in
from penstock.state.ttl_cleanup import ExpiringHandle, Expiry
from penstock.state.ttl_config import StateTtlConfig
from penstock.state.ttl_serializer import Used, UsedValueSerializer
from penstock.state.value_handles import AggregatingHandle, ReducingHandle, SingleValueHandle, ValueHandle
from penstock.state.value_serializers import ValueSerializer


class _OneEntryAKeyOrMore(ExpiringHandle):
    """State of which every entry of the store is one value."""

    def _remove(self, store_keys: list[bytes]) -> None:
        for store_key in store_keys:
            self._store.delete(store_key)
            self._cache.pop(key_in(store_key), None)


class _ExpiringValueHandle(_OneEntryAKeyOrMore, SingleValueHandle):
    def _read(self) -> Any:
        """The value for a user who reads it; an expired one is removed."""
        used = self._current()
        if used is None:
            return None
        expiry = self.expiry
        last_use, value = used
        if last_use <= expiry.latest_expired():
            self._set(None)
            return self._given(value) if expiry.shows_expired else None
        if expiry.reads_are_uses and last_use != expiry.now():
            self._set((expiry.now(), value))
        return self._given(value)

    def _to_combine(self) -> Any:
        """The value that something is to be added to."""
        used = self._current()
        if used is None or (used[0] <= self.expiry.latest_expired() and not self.expiry.shows_expired):
            return None
        return self._given(used[1])

    def _write(self, value: Any) -> None:
        self.uses += 1
        self._set(None if value is None else self._used(value))

    def _current(self) -> Used | None:
        self.uses += 1
        try:
            return self._cache[self._owner.current_key]
        except KeyError:
            return self._load()


class ExpiringValueHandle(_ExpiringValueHandle, ValueHandle):
    """`ValueState`."""

    def value(self) -> Any:
        """The value; None when there is none."""
        return self._read()

    def update(self, value: Any) -> None:
        """Sets the value; None removes it."""
        self._write(value)


class ExpiringReducingHandle(_ExpiringValueHandle, ReducingHandle):
    """`ReducingState`."""

    def get(self) -> Any:
        """All values added, reduced to one; None when there are none."""
        return self._read()

    def add(self, value: Any) -> None:
        """Combines a value with what is there."""
        current = self._to_combine()
        self._write(value if current is None else self.reducer(current, value))


class ExpiringAggregatingHandle(_ExpiringValueHandle, AggregatingHandle):
    """`AggregatingState`: what is kept is the accumulator."""

    def get(self) -> Any:
        """The aggregate function's result; None when nothing was added."""
        accumulator = self._read()
        return None if accumulator is None else self.function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Adds a value to the accumulator."""
        accumulator = self._to_combine()
        if accumulator is None:
            accumulator = self.function.create_accumulator()
        self._write(self.function.add(value, accumulator))

    def merge(self, accumulator: Any) -> None:
        """Merges another accumulator into the one that is there."""
        here = self._to_combine()
        self._write(accumulator if here is None else self.function.merge(here, accumulator))

    def _accumulator(self) -> Any:
        return self._to_combine()


class ExpiringListHandle(ExpiringHandle, ListHandle):
    """`ListState`: every element has its own last use."""

    _may_have_gaps = True

    def get(self) -> list[Any]:
        """The elements, in a list of the caller's own."""
        self.uses += 1
        expiry, elements = self.expiry, self._current().elements
        latest_expired = expiry.latest_expired()
        live = [used for used in elements if used[0] > latest_expired]
        if not live:
            if elements:
                self._replace([])
        elif expiry.reads_are_uses:
            now = expiry.now()
            if len(live) < len(elements) or any(used[0] != now for used in live):
                self._replace([(now, value) for _, value in live])
        return [self._given(value) for _, value in (elements if expiry.shows_expired else live)]

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        self.add_all((value,))

    def add_all(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        self.uses += 1
        kept = [self._used(value) for value in values]
        self._changing().elements.extend(kept)

    def update(self, values: Iterable[Any]) -> None:
        """Replaces all elements."""
        self.uses += 1
        self._replace([self._used(value) for value in values])

    def _remove(self, store_keys: list[bytes]) -> None:
        latest_expired = self.expiry.latest_expired()
        for key in dict.fromkeys(map(key_in, store_keys)):
            cached = self._load(key)
            cached.elements = [used for used in cached.elements if used[0] > latest_expired]
            cached.part_sizes = []
            self._save(key, self.keys_in_store.of(key), cached)
            self._cache.pop(key, None)


class ExpiringMapHandle(_OneEntryAKeyOrMore, MapHandle):
    """`MapState`: every entry has its own last use."""

    def get(self, key: Any) -> Any:
        """The value of a key; None when there is none."""
        self.uses += 1
        used = self._read(key, super().get(key))
        return None if used is None else self._given(used[1])

    def contains(self, key: Any) -> bool:
        """Whether there is a value of this key."""
        self.uses += 1
        return self._read(key, super().get(key)) is not None

    def put(self, key: Any, value: Any) -> None:
        """Sets the value of a key."""
        self.uses += 1
        super().put(key, self._used(value))

    def items(self) -> list[tuple[Any, Any]]:
        """The keys with their values."""
        self.uses += 1
        read = [(key, self._read(key, used)) for key, used in self._entries()]
        return [(key, self._given(used[1])) for key, used in read if used is not None]

    def keys(self) -> list[Any]:
        """The keys."""
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        """The values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether there is no key."""
        self.uses += 1
        latest_expired = self.expiry.latest_expired()
        return not any(self.expiry.shows_expired or used[0] > latest_expired for _, used in self._entries())

    def _read(self, key: Any, used: Used | None) -> Used | None:
        """An entry for a user who reads it; an expired one is removed."""
        if used is None:
            return None
        if used[0] <= self.expiry.latest_expired():
            self.remove(key)
            return used if self.expiry.shows_expired else None
        if self.expiry.reads_are_uses and used[0] != self.expiry.now():
            super().put(key, (self.expiry.now(), used[1]))
        return used


_EXPIRING: dict[type[StateHandle], type[Any]] = {
    ValueHandle: ExpiringValueHandle,
    ReducingHandle: ExpiringReducingHandle,
    AggregatingHandle: ExpiringAggregatingHandle,
    ListHandle: ExpiringListHandle,
    MapHandle: ExpiringMapHandle,
}


def expiring_handle(
    kind: type[StateHandle],
    place: tuple[Any, ...],
    serializers: tuple[ValueSerializer, ...],
    config: StateTtlConfig,
    clock: Callable[[], int],
) -> Any:
    """A handle of a kind of state with a time to live; `place` is what handles of any kind are told first."""
    *of_keys, of_values = serializers
    handle = _EXPIRING[kind](*place, *of_keys, UsedValueSerializer(of_values))
    handle.expiry = Expiry(config, clock)
    handle.value_serializer = of_values
    handle.uses = 0
    return handle
