"""Functions of two connected streams that share state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.function import Function
from penstock.functions.process import KeyedProcessContext, KeyedTimerContext, ProcessContext


class CoMapFunction(Function):
    """Makes at most one result of each record of either stream; None means none.

    >>> class Both(CoMapFunction):
    ...     def map1(self, value):
    ...         return f"number {value}"
    ...
    ...     def map2(self, value):
    ...         return None if value == "" else f"text {value}"
    >>> both = env.from_collection([1]).connect(env.from_collection(["", "a"])).map(Both())
    >>> sorted(both.execute_and_collect())
    ['number 1', 'text a']
    """

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The result for a record of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The result for a record of the second stream."""


class CoFlatMapFunction(Function):
    """Makes any number of results of each record of either stream.

    >>> class Both(CoFlatMapFunction):
    ...     def flat_map1(self, value):
    ...         return range(value)
    ...
    ...     def flat_map2(self, value):
    ...         yield from map(int, value.split())
    >>> sorted(env.from_collection([2]).connect(env.from_collection(["8 9"])).flat_map(Both()).execute_and_collect())
    [0, 1, 8, 9]
    """

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Yields the results for a record of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Yields the results for a record of the second stream."""


class CoProcessFunction(Function):
    """Makes any number of results of each record of either stream, and can ask for the time.

    >>> texts = OutputTag("texts", Types.STRING())
    >>> class Split(CoProcessFunction):
    ...     def process_element1(self, value, ctx):
    ...         yield value
    ...
    ...     def process_element2(self, value, ctx):
    ...         yield texts, value
    >>> numbers = env.from_collection([1]).connect(env.from_collection(["a"])).process(Split())
    >>> list(numbers.get_side_output(texts).execute_and_collect())
    ['a']
    """

    class Context(ProcessContext):
        """What `process_element1` and `process_element2` can ask."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record of the second stream."""


class KeyedCoProcessFunction(Function):
    """Works on the records of one key of both streams, with state and timers of that key.

    >>> class Paid(KeyedCoProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.due = runtime_context.get_state(ValueStateDescriptor("due", Types.LONG()))
    ...
    ...     def process_element1(self, value, ctx):  # an invoice
    ...         self.due.update((self.due.value() or 0) + value[1])
    ...         ctx.timer_service().register_event_time_timer(1_000)
    ...
    ...     def process_element2(self, value, ctx):  # a payment
    ...         self.due.update((self.due.value() or 0) - value[1])
    ...
    ...     def on_timer(self, timestamp, ctx):
    ...         yield ctx.get_current_key(), self.due.value()
    >>> invoices, payments = env.from_collection([("ann", 10), ("bob", 7)]), env.from_collection([("ann", 4)])
    >>> due = invoices.connect(payments).key_by(0, 0).process(Paid())
    >>> sorted(due.execute_and_collect())
    [('ann', 6), ('bob', 7)]
    """

    class Context(KeyedProcessContext):
        """What `process_element1` and `process_element2` can ask."""

    class OnTimerContext(Context, KeyedTimerContext):
        """What `on_timer` can ask."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Yields the results of a timer that fires."""
        return None
