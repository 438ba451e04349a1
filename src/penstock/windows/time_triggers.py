"""Triggers that follow event time or the clock."""

from __future__ import annotations

from typing import Any

from penstock.common.time import DurationLike
from penstock.common.typeinfo import Types
from penstock.common.watermark_generator import MAX_TIMESTAMP
from penstock.state.descriptors import ReducingStateDescriptor
from penstock.windows.checks import positive_millis
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window


class EventTimeTrigger(Trigger[Any, Window]):
    """Fires when the watermark passes the end of the window, and again for every late record."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires for a late record; else waits for the end of the window."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires at the end of the window."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Yes."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Waits for the end of the new window; when that is past, `on_element` fires."""
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Takes the timer back."""
        ctx.delete_event_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "EventTimeTrigger()"


class ProcessingTimeTrigger(Trigger[Any, Window]):
    """Fires when the clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Waits for the end of the window."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires."""
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Yes."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Waits for the end of the new window."""
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Takes the timer back."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"


class _ContinuousTrigger(Trigger[Any, Window]):
    """Fires at the multiples of an interval; when it fires next is state."""

    def __init__(self, interval: int) -> None:
        self.interval = positive_millis(type(self).__name__, "interval", interval)
        self._next_time = ReducingStateDescriptor("fire-time", min, Types.LONG())

    def can_merge(self) -> bool:
        """Yes."""
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"

    def _take_back(self, ctx: Trigger.TriggerContext) -> int | None:
        """Clears the state, and returns when the trigger would have fired next."""
        next_time = ctx.get_partitioned_state(self._next_time)
        timestamp = next_time.get()
        if timestamp is not None:
            next_time.clear()
        return timestamp

    def _is_waiting(self, ctx: Trigger.TriggerContext) -> bool:
        return ctx.get_partitioned_state(self._next_time).get() is not None

    def _multiple_at(self, time: int) -> int:
        """The multiple of the interval that a time is counted from.

        Flink divides as Java does, towards zero: before 1970 that is the next one, not the last.
        """
        return time - time % self.interval if time >= 0 else time + -time % self.interval

    def _set_next(self, before: int, window: Window, ctx: Trigger.TriggerContext) -> int:
        timestamp = min(before + self.interval, window.max_timestamp())
        ctx.get_partitioned_state(self._next_time).add(timestamp)
        return timestamp

    def _merged(self, ctx: Trigger.OnMergeContext) -> int | None:
        ctx.merge_partitioned_state(self._next_time)
        return ctx.get_partitioned_state(self._next_time).get()


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires whenever the watermark passes a multiple of an interval, and at the end of the window."""

    @staticmethod
    def of(interval: DurationLike) -> ContinuousEventTimeTrigger:
        """Fires at the multiples of this interval."""
        return ContinuousEventTimeTrigger(positive_millis("ContinuousEventTimeTrigger", "interval", interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires for a late record; else waits for the next multiple of the interval."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        if not self._is_waiting(ctx):
            ctx.register_event_time_timer(self._set_next(self._multiple_at(timestamp), window, ctx))
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires at the end of the window and at multiples of the interval."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        if ctx.get_partitioned_state(self._next_time).get() != time:
            return TriggerResult.CONTINUE
        self._take_back(ctx)
        # A window without an end would fire for ever at the end of the input: it fires once more, at the end of time.
        is_over = ctx.get_current_watermark() == window.max_timestamp() == MAX_TIMESTAMP
        ctx.register_event_time_timer(self._set_next(MAX_TIMESTAMP if is_over else time, window, ctx))
        return TriggerResult.FIRE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """The earliest of what the windows waited for."""
        timestamp = self._merged(ctx)
        if timestamp is not None:
            ctx.register_event_time_timer(timestamp)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Takes the timer back."""
        timestamp = self._take_back(ctx)
        if timestamp is not None:
            ctx.delete_event_time_timer(timestamp)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires whenever the clock passes a multiple of an interval, and at the end of the window."""

    @staticmethod
    def of(interval: DurationLike) -> ContinuousProcessingTimeTrigger:
        """Fires at the multiples of this interval."""
        return ContinuousProcessingTimeTrigger(positive_millis("ContinuousProcessingTimeTrigger", "interval", interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Waits for the next multiple of the interval."""
        if not self._is_waiting(ctx):
            since = self._multiple_at(ctx.get_current_processing_time())
            ctx.register_processing_time_timer(self._set_next(since, window, ctx))
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires at the end of the window and at multiples of the interval."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        if ctx.get_partitioned_state(self._next_time).get() != time:
            return TriggerResult.CONTINUE
        self._take_back(ctx)
        ctx.register_processing_time_timer(self._set_next(time, window, ctx))
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """The earliest of what the windows waited for."""
        timestamp = self._merged(ctx)
        if timestamp is not None:
            ctx.register_processing_time_timer(timestamp)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Takes the timer back."""
        timestamp = self._take_back(ctx)
        if timestamp is not None:
            ctx.delete_processing_time_timer(timestamp)
