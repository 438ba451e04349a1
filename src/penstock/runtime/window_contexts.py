"""The contexts of assigners, triggers, evictors and window functions: one object each, set anew for each window."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.functions.function import KeyedStateStore, RuntimeContext
from penstock.functions.metrics import MetricGroup
from penstock.functions.output_tag import OutputTag
from penstock.functions.window import ProcessAllWindowFunction, ProcessWindowFunction
from penstock.runtime.known_windows import KnownWindow
from penstock.runtime.operator import MAX_WATERMARK, Operator, OperatorContext
from penstock.runtime.result_sender import ResultSender
from penstock.runtime.timer_services import KeyedTimerService
from penstock.runtime.window_state import WindowStateBackend
from penstock.state.descriptors import StateDescriptor
from penstock.windows.assigner import WindowAssigner
from penstock.windows.evictors import Evictor
from penstock.windows.trigger import Trigger


class Pane(Protocol):
    """The key and the window that is worked on."""

    key: bytes
    known: KnownWindow

    @property
    def result_time(self) -> int | None:
        """The timestamp of results."""
        ...


class WindowTime:
    """The time in an operator."""

    def __init__(self, operator: Operator, context: OperatorContext) -> None:
        self._operator = operator
        self._context = context

    def get_current_processing_time(self) -> int:
        """The processing time of the epoch."""
        return self._context.processing_time

    def get_current_watermark(self) -> int:
        """How far event time has come."""
        return self._operator.current_watermark

    def get_metric_group(self) -> MetricGroup:
        """The operator's metrics."""
        return self._context.metrics


class AssignerContext(WindowTime, WindowAssigner.WindowAssignerContext):
    """For assigners."""

    def __init__(self, operator: Operator, context: OperatorContext, runtime_context: RuntimeContext) -> None:
        super().__init__(operator, context)
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """Where the assigner runs."""
        return self._runtime_context


class EvictorContext(WindowTime, Evictor.EvictorContext):
    """For evictors."""


class TriggerContext(WindowTime, Trigger.OnMergeContext):
    """For triggers: timers and state of the key and window that it is set to."""

    key: bytes
    known: KnownWindow
    merged: list[KnownWindow]
    fired_at: int | None
    """The time of the record or timer that the trigger is asked about."""

    def __init__(
        self, operator: Operator, context: OperatorContext, timers: KeyedTimerService, state: WindowStateBackend
    ) -> None:
        super().__init__(operator, context)
        self._event_time = timers.event_time
        self._processing_time = timers.processing_time
        self._state = state
        self.merged = []
        self.fired_at = MAX_WATERMARK

    @property
    def result_time(self) -> int | None:
        """The timestamp of results: the window's last; where it has no end, as in PyFlink, that of what fires it."""
        last = self.known.max_timestamp
        return last if last != MAX_WATERMARK else self.fired_at

    def register_processing_time_timer(self, time: int) -> None:
        """Sets a timer of the window."""
        if not self._key_has_ended():
            self._processing_time.register(time, self.key, self.known.namespace)

    def register_event_time_timer(self, time: int) -> None:
        """Sets a timer of the window."""
        if not self._key_has_ended():
            self._event_time.register(time, self.key, self.known.namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        """Takes a timer of the window back."""
        self._processing_time.delete(time, self.key, self.known.namespace)

    def delete_event_time_timer(self, time: int) -> None:
        """Takes a timer of the window back."""
        self._event_time.delete(time, self.key, self.known.namespace)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        """State of the key and the window."""
        self._state.current_key = self.key + self.known.suffix
        return self._state.handle_of(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        """Moves the state of the merged windows to the new one."""
        others = [self.key + known.suffix for known in self.merged]
        self._state.merge(state_descriptor, self.key + self.known.suffix, others)

    def _key_has_ended(self) -> bool:
        """In batch execution all timers fire at the end of a key: new ones could go on for ever."""
        return self._context.batch and self._operator.current_watermark == MAX_WATERMARK


class FunctionContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """For window functions."""

    def __init__(
        self,
        time: WindowTime,
        pane: Pane,
        sender: ResultSender,
        window_state: WindowStateBackend,
        window_store: KeyedStateStore,
        global_store: KeyedStateStore,
    ) -> None:
        self._time = time
        self._pane = pane
        self._sender = sender
        self._window_state = window_state
        self._window_store = window_store
        self._global_store = global_store

    def window(self) -> Any:
        """The window."""
        return self._pane.known.window

    def current_processing_time(self) -> int:
        """The processing time of the epoch."""
        return self._time.get_current_processing_time()

    def current_watermark(self) -> int:
        """How far event time has come."""
        return self._time.get_current_watermark()

    def window_state(self) -> KeyedStateStore:
        """State of the key and the window."""
        self._window_state.current_key = self._pane.key + self._pane.known.suffix
        return self._window_store

    def global_state(self) -> KeyedStateStore:
        """State of the key."""
        return self._global_store

    def output(self, tag: OutputTag, value: Any) -> None:
        """Sends a record to a side output, with the timestamp of the window's results."""
        self._sender.send_side(tag, value, self._pane.result_time)
