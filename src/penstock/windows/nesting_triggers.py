"""Triggers around other triggers."""

from __future__ import annotations

from typing import Any

from penstock.common.time import DurationLike
from penstock.common.typeinfo import Types
from penstock.state.descriptors import ValueStateDescriptor
from penstock.windows.checks import positive_millis, refuse_argument
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window


def _checked(maker: str, nested_trigger: Trigger[Any, Any]) -> Trigger[Any, Any]:
    if not isinstance(nested_trigger, Trigger):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refuse_argument(maker, "nested_trigger", nested_trigger, "a Trigger")
    return nested_trigger


class PurgingTrigger(Trigger[Any, Window]):
    """Removes the contents of the window whenever the trigger inside fires.

    >>> from penstock.windows.record_triggers import CountTrigger
    >>> PurgingTrigger.of(CountTrigger.of(3))
    PurgingTrigger(CountTrigger(3))
    """

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        self.nested_trigger = _checked("PurgingTrigger", nested_trigger)

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Purges when that trigger fires."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """What the trigger inside says, with purging."""
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """What the trigger inside says, with purging."""
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """What the trigger inside says, with purging."""
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        """If the trigger inside can."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """What the trigger inside does."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """What the trigger inside does."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


class ProcessingTimeoutTrigger(Trigger[Any, Window]):
    """Fires when the trigger inside does, or when that has not happened for some time.

    As in Flink it fires at every timer of the trigger inside too, whatever that one says to it.
    """

    def __init__(
        self,
        nested_trigger: Trigger[Any, Any],
        interval: int,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self._nested = _checked("ProcessingTimeoutTrigger", nested_trigger)
        self._interval = positive_millis("ProcessingTimeoutTrigger", "interval", interval)
        self._resets = reset_timer_on_new_record
        self._clears = should_clear_on_timeout
        self._timeout = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """Fires so long after the first record, or after the newest one where the timer is reset.

        With `should_clear_on_timeout` the trigger inside starts anew when the time is out.
        """
        interval = positive_millis("ProcessingTimeoutTrigger", "timeout", timeout)
        return ProcessingTimeoutTrigger(nested_trigger, interval, reset_timer_on_new_record, should_clear_on_timeout)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Asks the trigger inside; where that does not fire, the timer runs."""
        result = self._nested.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        timeout = ctx.get_partitioned_state(self._timeout)
        current = timeout.value()
        if current is not None and self._resets:
            ctx.delete_processing_time_timer(current)
            current = None
        if current is None:
            at = ctx.get_current_processing_time() + self._interval
            timeout.update(at)
            ctx.register_processing_time_timer(at)
        return result

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires."""
        return self._timed_out(self._nested.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires."""
        return self._timed_out(self._nested.on_event_time(time, window, ctx), window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Takes the timer back, and clears the trigger inside."""
        timeout = ctx.get_partitioned_state(self._timeout)
        current = timeout.value()
        if current is not None:
            ctx.delete_processing_time_timer(current)
            timeout.clear()
        self._nested.clear(window, ctx)

    def _timed_out(self, result: TriggerResult, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self._clears:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else TriggerResult.FIRE

    def __repr__(self) -> str:
        return f"TimeoutTrigger({self._nested!r})"
