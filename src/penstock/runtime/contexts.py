"""The contexts that are handed to process functions: one object per operator, set anew for each record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.functions.co_process import CoProcessFunction, KeyedCoProcessFunction
from penstock.functions.output_tag import OutputTag
from penstock.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.functions.timer_service import TimeDomain, TimerService
from penstock.runtime.result_sender import ResultSender
from penstock.state.broadcast import DeclaredBroadcastState
from penstock.state.descriptors import MapStateDescriptor, StateDescriptor
from penstock.state.key_encoding import decode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.state import BroadcastState, ReadOnlyBroadcastState

_KEY_CACHE_SIZE = 1 << 16


class RecordContext(ProcessFunction.Context, CoProcessFunction.Context):
    """For process functions without a key."""

    record_timestamp: int | None = None

    def __init__(self, timer_service: TimerService, sender: ResultSender) -> None:
        self._timer_service = timer_service
        self._sender = sender

    def timer_service(self) -> TimerService:
        """The time."""
        return self._timer_service

    def timestamp(self) -> int | None:
        """The timestamp of the record or the firing timer."""
        return self.record_timestamp

    def output(self, tag: OutputTag, value: Any) -> None:
        """Sends a record to a side output."""
        self._sender.send_side(tag, value, self.record_timestamp)

    def current_processing_time(self) -> int:
        """The processing time."""
        return self._timer_service.current_processing_time()

    def current_watermark(self) -> int:
        """How far event time has come."""
        return self._timer_service.current_watermark()


class CurrentKey:
    """Decodes the current key when it is asked for, and remembers."""

    def __init__(self, state: KeyedStateBackend) -> None:
        self._state = state
        self._decoded: dict[bytes, Any] = {}

    def get(self) -> Any:
        """The current key as the user knows it; None where there is none."""
        encoded = self._state.current_key
        if encoded is None:
            return None
        try:
            return self._decoded[encoded]
        except KeyError:
            if len(self._decoded) >= _KEY_CACHE_SIZE:
                self._decoded.clear()
            key = self._decoded[encoded] = decode_key(encoded)
            return key


class KeyedContext(RecordContext, KeyedProcessFunction.Context, KeyedCoProcessFunction.Context):
    """For process functions with a key, while they work on a record."""

    def __init__(self, timer_service: TimerService, sender: ResultSender, current_key: CurrentKey) -> None:
        super().__init__(timer_service, sender)
        self._current_key = current_key

    def get_current_key(self) -> Any:
        """The current key."""
        return self._current_key.get()


class KeyedTimerContext(KeyedContext, KeyedProcessFunction.OnTimerContext, KeyedCoProcessFunction.OnTimerContext):
    """For process functions with a key, while a timer fires."""

    firing_domain: TimeDomain = TimeDomain.EVENT_TIME

    def time_domain(self) -> TimeDomain:
        """Which kind of timer fires."""
        return self.firing_domain

    def output(self, tag: OutputTag, value: Any) -> None:
        """Sends a record to a side output."""
        is_event_time = self.firing_domain is TimeDomain.EVENT_TIME
        self._sender.send_side(tag, value, self.record_timestamp if is_event_time else None)


class BroadcastContext(RecordContext, BroadcastProcessFunction.Context):
    """For the broadcast side: broadcast state can be written."""

    def __init__(
        self, timer_service: TimerService, sender: ResultSender, broadcast_state: DeclaredBroadcastState
    ) -> None:
        super().__init__(timer_service, sender)
        self._broadcast_state = broadcast_state

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState:
        """The broadcast state of that name."""
        return self._broadcast_state.get_broadcast_state(state_descriptor)


class ReadOnlyContext(RecordContext, BroadcastProcessFunction.ReadOnlyContext):
    """For the other side of a broadcast: its state can be read."""

    def __init__(
        self, timer_service: TimerService, sender: ResultSender, broadcast_state: DeclaredBroadcastState
    ) -> None:
        super().__init__(timer_service, sender)
        self._broadcast_state = broadcast_state

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        """The broadcast state of that name, to read."""
        return self._broadcast_state.get_read_only_state(state_descriptor)


class KeyedBroadcastContext(BroadcastContext, KeyedBroadcastProcessFunction.Context):
    """For the broadcast side beside a keyed stream: the state of all keys can be visited."""

    def __init__(
        self,
        timer_service: TimerService,
        sender: ResultSender,
        broadcast_state: DeclaredBroadcastState,
        keyed_state: KeyedStateBackend,
    ) -> None:
        super().__init__(timer_service, sender, broadcast_state)
        self._keyed_state = keyed_state

    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        """Calls `function(key, state)` for every key that has something in that state."""
        self._keyed_state.apply_to_all_keys(state_descriptor, function)


class KeyedReadOnlyContext(KeyedContext, KeyedBroadcastProcessFunction.ReadOnlyContext):
    """For the keyed side of a broadcast."""

    def __init__(
        self,
        timer_service: TimerService,
        sender: ResultSender,
        current_key: CurrentKey,
        broadcast_state: DeclaredBroadcastState,
    ) -> None:
        super().__init__(timer_service, sender, current_key)
        self._broadcast_state = broadcast_state

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        """The broadcast state of that name, to read."""
        return self._broadcast_state.get_read_only_state(state_descriptor)


class KeyedBroadcastTimerContext(KeyedReadOnlyContext, KeyedTimerContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """For the keyed side of a broadcast, while a timer fires."""
