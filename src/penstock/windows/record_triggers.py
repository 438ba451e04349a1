"""Triggers that look at the records of a window: how many, how different."""

from __future__ import annotations

from operator import add
from typing import Any

from penstock.common.typeinfo import Types
from penstock.state.descriptors import ReducingStateDescriptor, TypeLike, ValueStateDescriptor
from penstock.windows.checks import number, positive_count
from penstock.windows.delta import DeltaLike, delta_callable
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window


class _RecordTrigger(Trigger[Any, Window]):
    """Time does not matter."""

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE


class CountTrigger(_RecordTrigger):
    """Fires when a number of records have come since it last fired.

    >>> CountTrigger.of(100)
    CountTrigger(100)
    """

    def __init__(self, window_size: int) -> None:
        self._window_size = positive_count("CountTrigger", "window_size", window_size)
        self._count = ReducingStateDescriptor("count", add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Fires at this many records."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Counts; fires when there are enough."""
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() < self._window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """Yes."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """The counts add up."""
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forgets the count."""
        ctx.get_partitioned_state(self._count).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self._window_size})"


class DeltaTrigger(_RecordTrigger):
    """Fires when a record is further than a threshold from the one at which it last fired."""

    def __init__(self, threshold: float, delta_function: DeltaLike, state_type: TypeLike = None) -> None:
        self._threshold = number("DeltaTrigger", "threshold", threshold)
        self._delta = delta_callable("DeltaTrigger", delta_function)
        self._last_element = ValueStateDescriptor("last-element", state_type)

    @staticmethod
    def of(threshold: float, delta_function: DeltaLike, state_type: TypeLike = None) -> DeltaTrigger:
        """Fires when `delta_function(last, new) > threshold`; the first record of a window is only remembered."""
        return DeltaTrigger(threshold, delta_function, state_type)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Compares with the record at which it last fired."""
        last = ctx.get_partitioned_state(self._last_element)
        before = last.value()
        if before is None:
            last.update(element)
            return TriggerResult.CONTINUE
        if self._delta(before, element) > self._threshold:
            last.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forgets the record."""
        ctx.get_partitioned_state(self._last_element).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self._threshold})"


class NeverTrigger(_RecordTrigger):
    """Never fires: what global windows have where the program names no trigger."""

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Nothing."""

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Nothing."""

    def __repr__(self) -> str:
        return "NeverTrigger()"


class EndOfStreamTrigger(_RecordTrigger):
    """Fires once, when the input has ended."""

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Waits for the end of time, which is the end of the input."""
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires at the end of time."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Nothing."""

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Nothing."""

    def __repr__(self) -> str:
        return "EndOfStreamTrigger()"
