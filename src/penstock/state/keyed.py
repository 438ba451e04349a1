"""All keyed state of one operator subtask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.common.errors import StateError
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.handle import DEFAULT_CACHE_LIMIT, StateHandle
from penstock.state.key_encoding import decode_key
from penstock.state.list_handle import ListHandle
from penstock.state.map_handle import MapHandle
from penstock.state.state_keys import StateKeys
from penstock.state.store import StateStore
from penstock.state.value_handles import AggregatingHandle, ReducingHandle, ValueHandle
from penstock.state.value_serializers import serializer_for

_Handle = TypeVar("_Handle", bound=StateHandle)


class KeyedStateBackend:
    """Makes handles of state; they work on `current_key`, which the operator sets for every record."""

    def __init__(
        self, store: StateStore, uid: str, max_parallelism: int, *, cache_limit: int = DEFAULT_CACHE_LIMIT
    ) -> None:
        self.current_key: bytes | None = None
        """The encoded key that handles work on; None outside records and timers."""
        self._store = store
        self._uid = uid
        self._max_parallelism = max_parallelism
        self._cache_limit = cache_limit
        self._handles: dict[str, StateHandle] = {}

    @property
    def state_names(self) -> list[str]:
        """The names of the states that were asked for, in that order."""
        return list(self._handles)

    def get_state(self, descriptor: ValueStateDescriptor) -> ValueHandle:
        """State that is one value."""
        _require(descriptor, ValueStateDescriptor)
        return self._single_value(ValueHandle, descriptor)

    def get_list_state(self, descriptor: ListStateDescriptor) -> ListHandle:
        """State that is a list."""
        _require(descriptor, ListStateDescriptor)
        return self._handle(ListHandle, descriptor.name, serializer_for(descriptor.element_type))

    def get_map_state(self, descriptor: MapStateDescriptor) -> MapHandle:
        """State that is a map."""
        _require(descriptor, MapStateDescriptor)
        serializers = serializer_for(descriptor.key_type), serializer_for(descriptor.value_type)
        return self._handle(MapHandle, descriptor.name, *serializers)

    def get_reducing_state(self, descriptor: ReducingStateDescriptor) -> ReducingHandle:
        """State that is all values added to it, reduced to one."""
        _require(descriptor, ReducingStateDescriptor)
        handle = self._single_value(ReducingHandle, descriptor)
        handle.reducer = descriptor.reducer()
        return handle

    def get_aggregating_state(self, descriptor: AggregatingStateDescriptor) -> AggregatingHandle:
        """State that is an accumulator of all values added to it."""
        _require(descriptor, AggregatingStateDescriptor)
        handle = self._single_value(AggregatingHandle, descriptor)
        handle.function = descriptor.get_agg_function()
        return handle

    def get_partitioned_state(self, descriptor: StateDescriptor) -> StateHandle:
        """State of the kind that the descriptor is of."""
        for kind, get in (
            (ValueStateDescriptor, self.get_state),
            (ListStateDescriptor, self.get_list_state),
            (MapStateDescriptor, self.get_map_state),
            (ReducingStateDescriptor, self.get_reducing_state),
            (AggregatingStateDescriptor, self.get_aggregating_state),
        ):
            if isinstance(descriptor, kind):
                return get(descriptor)  # type: ignore[arg-type]
        raise StateError(f"{descriptor!r} describes no keyed state")

    def apply_to_all_keys(self, descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        """Calls `function(key, state)` for every key that has something in a state, in the order of the store."""
        handle = self.get_partitioned_state(descriptor)
        handle.flush()
        before = self.current_key
        try:
            for key in list(handle.keys_in_store.stored_keys(self._store)):
                self.current_key = key
                function(decode_key(key), handle)
        finally:
            self.current_key = before

    def flush(self) -> None:
        """Writes what was set to the store."""
        for handle in self._handles.values():
            handle.flush()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store or not written to it."""
        for handle in self._handles.values():
            handle.drop_caches()

    def _single_value(self, kind: type[_Handle], descriptor: StateDescriptor) -> _Handle:
        return self._handle(kind, descriptor.name, serializer_for(descriptor.type_info))

    def _handle(self, kind: type[_Handle], name: str, *serializers: Any) -> _Handle:
        handle = self._handles.get(name)
        if handle is None:
            keys = StateKeys(self._uid, name, self._max_parallelism)
            for other in self._handles.values():
                if other.keys_in_store.prefix == keys.prefix:
                    raise StateError(f"the state names '{name}' and '{other.name}' have the same hash; rename one")
            handle = self._handles[name] = kind(name, self, self._store, keys, self._cache_limit, *serializers)
        if not isinstance(handle, kind):
            raise StateError(
                f"operator '{self._uid}' uses the name '{name}' for two kinds of state: "
                f"{_kind_of(type(handle))} and {_kind_of(kind)}; give them different names"
            )
        return handle


def _kind_of(handle: type[StateHandle]) -> str:
    return handle.__name__.replace("Handle", "State")


def _require(descriptor: StateDescriptor, kind: type[StateDescriptor]) -> None:
    if not isinstance(descriptor, kind):
        raise StateError(f"a {kind.__name__} was expected, got {descriptor!r}")
