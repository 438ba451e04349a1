"""The operators behind `BroadcastConnectedStream.process`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.common.batch import Batch
from penstock.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.runtime.contexts import (
    BroadcastContext,
    KeyedBroadcastContext,
    KeyedBroadcastTimerContext,
    KeyedReadOnlyContext,
    KeyedTimerContext,
    ReadOnlyContext,
)
from penstock.runtime.function_operator import FunctionOperator
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.operator import OperatorContext
from penstock.runtime.timer_services import UnkeyedTimerService
from penstock.state.broadcast import BroadcastStateBackend, DeclaredBroadcastState

_BROADCAST_INPUT = 1


class BroadcastProcessOperator(FunctionOperator):
    """Runs a `BroadcastProcessFunction`: input 0 is the stream, input 1 the broadcast one."""

    _function: BroadcastProcessFunction[Any, Any, Any]
    state_names: Collection[str] | None = None
    """The broadcast states that there are; None: any."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._broadcast_state = BroadcastStateBackend(context.store, context.uid)
        super().open(context)
        time = UnkeyedTimerService(self, context)
        states = DeclaredBroadcastState(self._broadcast_state, self.state_names)
        self._record_context = ReadOnlyContext(time, self._sender, states)
        self._broadcast_context = BroadcastContext(time, self._sender, states)

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record."""
        if input_index == _BROADCAST_INPUT:
            self._process_batch(self._function.process_broadcast_element, self._broadcast_context, batch)
        else:
            self._process_batch(self._function.process_element, self._record_context, batch)

    def end_epoch(self) -> None:
        """Writes broadcast state to the store."""
        self._flush(self._broadcast_state)

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        self._broadcast_state.drop_caches()

    def _broadcast_state_of_function(self) -> BroadcastStateBackend:
        return self._broadcast_state


class KeyedBroadcastProcessOperator(KeyedFunctionOperator):
    """Runs a `KeyedBroadcastProcessFunction`: input 0 is the keyed stream, input 1 the broadcast one."""

    _function: KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    state_names: Collection[str] | None = None
    """The broadcast states that there are; None: any."""

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._broadcast_state = BroadcastStateBackend(context.store, context.uid)
        self._declared = DeclaredBroadcastState(self._broadcast_state, self.state_names)
        super().open(context)
        self._record_context = KeyedReadOnlyContext(self._timers, self._sender, self._current_key, self._declared)
        self._broadcast_context = KeyedBroadcastContext(
            UnkeyedTimerService(self, context), self._sender, self._declared, self._state
        )

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function for every record; on the broadcast side there is no current key."""
        if input_index == _BROADCAST_INPUT:
            self._state.current_key = None
            self._process_batch(self._function.process_broadcast_element, self._broadcast_context, batch)
        else:
            self._process_keyed_batch(self._function.process_element, self._record_context, batch)

    def end_epoch(self) -> None:
        """Writes keyed state, broadcast state and timers to the store."""
        super().end_epoch()
        self._flush(self._broadcast_state)

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        super().drop_caches()
        self._broadcast_state.drop_caches()

    def forget_key(self) -> None:
        """Forgets the state of the current key; broadcast state is no key's."""
        super().drop_caches()

    def _make_timer_context(self) -> KeyedTimerContext:
        return KeyedBroadcastTimerContext(self._timers, self._sender, self._current_key, self._declared)

    def _broadcast_state_of_function(self) -> BroadcastStateBackend:
        return self._broadcast_state
