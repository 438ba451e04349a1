"""All keyed state of one operator subtask."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, TypeVar

from penstock.common.errors import StateError
from penstock.state.catalogue import StateCatalogue
from penstock.state.columnar_values import ColumnarValueState, EncodedKeys
from penstock.state.copied_value_handles import COPYING
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
from penstock.state.ttl_cleanup import ExpiringHandle, check_time_to_live
from penstock.state.ttl_handles import expiring_handle
from penstock.state.value_handles import AggregatingHandle, ReducingHandle, ValueHandle
from penstock.state.value_serializers import ValueSerializer, serializer_for

_Handle = TypeVar("_Handle", bound=StateHandle)


class KeyedStateBackend:
    """Makes handles of state; they work on `current_key`, which the operator sets for every record."""

    keys_class: type[StateKeys] = StateKeys

    def __init__(
        self,
        store: StateStore,
        uid: str,
        max_parallelism: int,
        *,
        cache_limit: int = DEFAULT_CACHE_LIMIT,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.current_key: bytes | None = None
        """The encoded key that handles work on; None outside records and timers."""
        self._store = store
        self._uid = uid
        self._max_parallelism = max_parallelism
        self._cache_limit = cache_limit
        self._handles: dict[str, StateHandle] = {}
        self._clock = clock
        """Processing time, which values with a time to live expire by."""
        self._expiring: list[ExpiringHandle] = []
        self.catalogue = StateCatalogue(store, uid)
        """What the states are, in words; the operator flushes it."""

    @property
    def state_names(self) -> list[str]:
        """The names of the states that were asked for, in that order."""
        return list(self._handles)

    def get_state(self, descriptor: ValueStateDescriptor) -> ValueHandle:
        """State that is one value."""
        _require(descriptor, ValueStateDescriptor)
        return self._single_value(ValueHandle, descriptor)

    def get_columnar_state(
        self, descriptor: ValueStateDescriptor, encode_keys: Callable[[Any], EncodedKeys]
    ) -> ColumnarValueState:
        """The same state, for many keys at once; `encode_keys` makes encoded keys of a column."""
        handle = self.get_state(descriptor)
        return ColumnarValueState(descriptor, handle.keys_in_store, self._store, encode_keys)

    def get_list_state(self, descriptor: ListStateDescriptor) -> ListHandle:
        """State that is a list."""
        _require(descriptor, ListStateDescriptor)
        return self._handle(ListHandle, descriptor, serializer_for(descriptor.element_type))

    def get_map_state(self, descriptor: MapStateDescriptor) -> MapHandle:
        """State that is a map."""
        _require(descriptor, MapStateDescriptor)
        serializers = serializer_for(descriptor.key_type), serializer_for(descriptor.value_type)
        return self._handle(MapHandle, descriptor, *serializers)

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

    def values_of_current_key(self) -> dict[str, Any]:
        """What each state holds for the current key, for people; nothing where there is no current key."""
        if self.current_key is None:
            return {}
        return {name: _shown_value(handle) for name, handle in self._handles.items()}

    def flush(self) -> None:
        """Writes what was set to the store."""
        for handle in self._handles.values():
            handle.flush()

    def count_records(self, records: int) -> None:
        """The operator has processed records: clean-up of expired values may go by their number."""
        for handle in self._expiring:
            handle.use_for_records(records)

    def clean_up_before_snapshot(self) -> None:
        """Removes what has expired: all state is about to be written anew. The caller has flushed."""
        for handle in self._expiring:
            handle.clean_up_before_snapshot()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store or not written to it."""
        for handle in self._handles.values():
            handle.drop_caches()

    def _single_value(self, kind: type[_Handle], descriptor: StateDescriptor) -> _Handle:
        return self._handle(kind, descriptor, serializer_for(descriptor.type_info))

    def _handle(self, kind: type[_Handle], descriptor: StateDescriptor, *serializers: Any) -> _Handle:
        name = descriptor.name
        handle = self._handles.get(name)
        if handle is None:
            keys = self.keys_class(self._uid, name, self._max_parallelism)
            for other in self._handles.values():
                if other.keys_in_store.prefix == keys.prefix:
                    raise StateError(f"the state names '{name}' and '{other.name}' have the same hash; rename one")
            self.catalogue.add(descriptor, namespaced=keys.is_namespaced)
            handle = self._handles[name] = self._new_handle(kind, descriptor, keys, serializers)
        if not isinstance(handle, kind):
            raise StateError(
                f"operator '{self._uid}' uses the name '{name}' for two kinds of state: "
                f"{_kind_of(type(handle))} and {_kind_of(kind)}; give them different names"
            )
        if isinstance(handle, ExpiringHandle) != (descriptor.time_to_live is not None):
            raise StateError(f"operator '{self._uid}' uses state '{name}' both with and without a time to live")
        return handle

    def _new_handle(
        self,
        kind: type[StateHandle],
        descriptor: StateDescriptor,
        keys: StateKeys,
        serializers: tuple[ValueSerializer, ...],
    ) -> StateHandle:
        name, config = descriptor.name, descriptor.time_to_live
        place = (name, self, self._store, keys, self._cache_limit)
        check_time_to_live(self._store, self._uid, name, keys, is_enabled=config is not None)
        if config is None:
            kind = COPYING.get(kind, kind) if serializers[-1].may_change else kind
            return kind(*place, *serializers)
        if self._clock is None:
            raise StateError(f"operator '{self._uid}' has no clock that values of state '{name}' could expire by")
        handle = expiring_handle(kind, place, serializers, config, self._clock)
        self._expiring.append(handle)
        return handle


_SHOWN_VALUES = 100


def _shown_value(handle: StateHandle) -> Any:
    """A value, the first elements of a list, or the first entries of a map; whatever goes wrong is a value too."""
    try:
        if isinstance(handle, MapHandle):
            return dict(islice(handle.items(), _SHOWN_VALUES))
        if isinstance(handle, ListHandle):
            return list(islice(handle.get() or (), _SHOWN_VALUES))
        return handle.value() if isinstance(handle, ValueHandle) else handle.get()  # type: ignore[attr-defined]
    except Exception as error:
        return f"<{type(error).__qualname__}: {error}>"


def _kind_of(handle: type[StateHandle]) -> str:
    return handle.__name__.removeprefix("Expiring").removeprefix("Copied").replace("Handle", "State")


def _require(descriptor: StateDescriptor, kind: type[StateDescriptor]) -> None:
    if not isinstance(descriptor, kind):
        raise StateError(f"a {kind.__name__} was expected, got {descriptor!r}")
