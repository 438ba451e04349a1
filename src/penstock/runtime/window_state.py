"""State of a key and a window, for triggers and window functions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

from penstock.common.errors import StateError
from penstock.functions.function import KeyedStateStore
from penstock.runtime.operator import OperatorContext
from penstock.state.descriptors import StateDescriptor
from penstock.state.handle import StateHandle
from penstock.state.keyed import KeyedStateBackend
from penstock.state.list_handle import ListHandle
from penstock.state.namespaced_keys import NamespacedKeys
from penstock.state.value_handles import AggregatingHandle, ReducingHandle


class WindowStateBackend(KeyedStateBackend):
    """State whose `current_key` is a key and a window; `scope` keeps its names apart from those of others."""

    keys_class = NamespacedKeys

    def __init__(self, context: OperatorContext, scope: str) -> None:
        super().__init__(context.store, context.uid, context.max_parallelism, clock=lambda: context.processing_time)
        self._scope = scope
        self._by_descriptor: dict[StateDescriptor, StateHandle] = {}
        self._closed: list[bytes] = []

    def handle_of(self, descriptor: StateDescriptor) -> StateHandle:
        """The state of a descriptor: the same object every time, for this is asked for every record."""
        handle = self._by_descriptor.get(descriptor)
        if handle is None:
            handle = self._by_descriptor[descriptor] = self.get_partitioned_state(descriptor)
        return handle

    def merge(self, descriptor: StateDescriptor, at: bytes, others: Sequence[bytes]) -> None:
        """Moves what other windows have in a state here."""
        handle = self.handle_of(descriptor)
        before, self.current_key = self.current_key, at
        try:
            for other in others:
                _move(self, handle, at, other)
        finally:
            self.current_key = before

    def close(self, at: bytes) -> None:
        """A window goes away: nothing of it is kept in memory beyond the epoch."""
        if self._handles:
            self._closed.append(at)

    def flush(self) -> None:
        """Writes what was set to the store."""
        super().flush()
        for handle in self._handles.values():
            for at in self._closed:
                handle.forget(at)
        self._closed.clear()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store or not written to it."""
        super().drop_caches()
        self._closed.clear()

    def _handle(self, kind: Any, descriptor: StateDescriptor, *arguments: Any) -> Any:
        scoped = copy.copy(descriptor)
        scoped.name = f"{self._scope}: {descriptor.name}"
        return super()._handle(kind, scoped, *arguments)


def _move(state: WindowStateBackend, handle: StateHandle, at: bytes, other: bytes) -> None:
    state.current_key = other
    match handle:
        case ListHandle():
            elements = handle.get()
            handle.clear()
            state.current_key = at
            handle.add_all(elements)
        case ReducingHandle():
            value = handle.get()
            if value is not None:
                handle.clear()
                state.current_key = at
                handle.add(value)
        case AggregatingHandle():
            accumulator = handle.accumulator
            if accumulator is not None:
                handle.clear()
                state.current_key = at
                handle.merge(accumulator)
        case _:
            raise StateError(
                f"the state '{handle.name}' cannot be merged; expected a ListStateDescriptor, a "
                "ReducingStateDescriptor or an AggregatingStateDescriptor"
            )


class NoWindowState(KeyedStateStore):
    """Stands where windows merge: Flink has no state of a window there."""

    def get_state(self, state_descriptor: Any) -> NoReturn:
        """Refused."""
        raise self._refusal(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> NoReturn:
        """Refused."""
        raise self._refusal(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> NoReturn:
        """Refused."""
        raise self._refusal(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> NoReturn:
        """Refused."""
        raise self._refusal(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> NoReturn:
        """Refused."""
        raise self._refusal(state_descriptor)

    @staticmethod
    def _refusal(descriptor: StateDescriptor) -> StateError:
        return StateError(
            f"the state '{descriptor.name}' of a window: session windows merge, and have no state of their own; use "
            "`context.global_state()`, which belongs to the key"
        )
