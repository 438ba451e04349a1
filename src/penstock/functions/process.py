"""Functions with access to time, timers and side outputs: one input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.function import Function
from penstock.functions.output_tag import OutputTag
from penstock.functions.timer_service import TimeDomain, TimerService


class ProcessContext(ABC):
    """What every process function can ask while it works on a record. Valid during the call only."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """The time, and timers where the stream is keyed."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The record's timestamp, or the time of the firing timer; None where records have no timestamps."""

    @abstractmethod
    def output(self, tag: OutputTag, value: Any) -> None:
        """Sends a record to a side output; the same as `yield tag, value`."""


class KeyedProcessContext(ProcessContext):
    """A process context with a current key."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the record, or of the firing timer."""


class KeyedTimerContext(KeyedProcessContext):
    """A keyed process context while a timer fires."""

    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Which kind of timer fires."""


class ProcessFunction(Function):
    """Makes any number of results of each record, and can ask for the time.

    Results are yielded, or returned as any iterable. A pair of an `OutputTag` and a value goes to that side
    output.

    >>> late = OutputTag("late")
    >>> class Split(ProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         if ctx.timestamp() < ctx.timer_service().current_watermark():
    ...             yield late, value
    ...         else:
    ...             yield value
    """

    class Context(ProcessContext):
        """What `process_element` can ask."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record."""


class KeyedProcessFunction(Function):
    """Works on the records of one key at a time, with state and timers of that key.

    >>> class Sessions(KeyedProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)
    ...     def on_timer(self, timestamp, ctx):
    ...         yield ctx.get_current_key(), timestamp
    """

    class Context(KeyedProcessContext):
        """What `process_element` can ask."""

    class OnTimerContext(Context, KeyedTimerContext):
        """What `on_timer` can ask."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Yields the results of a timer that fires."""
        return None
