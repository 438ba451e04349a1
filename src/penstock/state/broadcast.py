"""Broadcast state of one operator subtask: maps without a key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from penstock.common.errors import StateError
from penstock.state.catalogue import StateCatalogue
from penstock.state.descriptors import MapStateDescriptor
from penstock.state.handle import DEFAULT_CACHE_LIMIT
from penstock.state.map_handle import MapHandle
from penstock.state.state import BroadcastState, ReadOnlyBroadcastState
from penstock.state.state_keys import BroadcastKeys
from penstock.state.store import StateStore
from penstock.state.value_serializers import serializer_for


class _ReadOnlyHandle(ReadOnlyBroadcastState[Any, Any]):
    def __init__(self, entries: MapHandle) -> None:
        self._entries = entries

    def get(self, key: Any) -> Any:
        return self._entries.get(key)

    def contains(self, key: Any) -> bool:
        return self._entries.contains(key)

    def items(self) -> list[tuple[Any, Any]]:
        return self._entries.items()

    def keys(self) -> list[Any]:
        return self._entries.keys()

    def values(self) -> list[Any]:
        return self._entries.values()

    def is_empty(self) -> bool:
        return self._entries.is_empty()

    def clear(self) -> None:
        raise self._refusal()

    def put(self, key: Any, value: Any) -> None:
        raise self._refusal()

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        raise self._refusal()

    def remove(self, key: Any) -> None:
        raise self._refusal()

    def _refusal(self) -> StateError:
        return StateError(
            f"broadcast state '{self._entries.name}' can only be read here: it is changed where the elements of the "
            "broadcast stream are processed, so that all subtasks see the same"
        )


class _BroadcastHandle(_ReadOnlyHandle, BroadcastState[Any, Any]):
    def put(self, key: Any, value: Any) -> None:
        self._entries.put(key, value)

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        self._entries.put_all(dict_value)

    def remove(self, key: Any) -> None:
        self._entries.remove(key)

    def clear(self) -> None:
        self._entries.clear()


class BroadcastStateBackend:
    """Makes handles of broadcast state."""

    current_key: bytes | None = b""
    """The same for all entries: broadcast state has no key."""

    def __init__(self, store: StateStore, uid: str) -> None:
        self._store = store
        self._uid = uid
        self._handles: dict[str, MapHandle] = {}
        self.catalogue = StateCatalogue(store, uid)
        """What the states are, in words; the operator flushes it."""

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """State that the elements of the broadcast stream change."""
        return _BroadcastHandle(self._handle(descriptor))

    def get_read_only_state(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """The same state, to read."""
        return _ReadOnlyHandle(self._handle(descriptor))

    def flush(self) -> None:
        """Writes what was set to the store."""
        for handle in self._handles.values():
            handle.flush()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store or not written to it."""
        for handle in self._handles.values():
            handle.drop_caches()

    def _handle(self, descriptor: MapStateDescriptor) -> MapHandle:
        if not isinstance(descriptor, MapStateDescriptor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StateError(f"broadcast state takes a MapStateDescriptor, got {descriptor!r}")
        if descriptor.time_to_live is not None:
            raise StateError(f"broadcast state '{descriptor.name}' has no time to live: only keyed state expires")
        handle = self._handles.get(descriptor.name)
        if handle is None:
            self.catalogue.add(descriptor, "BroadcastState")
            handle = self._handles[descriptor.name] = MapHandle(
                descriptor.name,
                self,
                self._store,
                BroadcastKeys(self._uid, descriptor.name),
                DEFAULT_CACHE_LIMIT,
                serializer_for(descriptor.key_type),
                serializer_for(descriptor.value_type),
            )
        return handle


class DeclaredBroadcastState:
    """The broadcast states that the program gave to `broadcast(...)`, and no others."""

    def __init__(self, states: BroadcastStateBackend, names: Collection[str] | None) -> None:
        self._states = states
        self._names = names

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> BroadcastState:
        """State that the elements of the broadcast stream change."""
        self._check(descriptor)
        return self._states.get_broadcast_state(descriptor)

    def get_read_only_state(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        """The same state, to read."""
        self._check(descriptor)
        return self._states.get_read_only_state(descriptor)

    def _check(self, descriptor: MapStateDescriptor) -> None:
        name = getattr(descriptor, "name", None)
        if self._names is not None and name is not None and name not in self._names:
            raise StateError(
                f"there is no broadcast state '{name}', only {', '.join(map(repr, self._names))}; give its descriptor "
                "to `broadcast(...)` too"
            )
