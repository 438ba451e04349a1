"""Functions of two connected streams that share state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.function import Function
from penstock.functions.process import KeyedProcessContext, KeyedTimerContext, ProcessContext


class CoMapFunction(Function):
    """Makes at most one result of each record of either stream; None means none."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The result for a record of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The result for a record of the second stream."""


class CoFlatMapFunction(Function):
    """Makes any number of results of each record of either stream."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Yields the results for a record of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Yields the results for a record of the second stream."""


class CoProcessFunction(Function):
    """Makes any number of results of each record of either stream, and can ask for the time."""

    class Context(ProcessContext):
        """What `process_element1` and `process_element2` can ask."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yields the results for a record of the second stream."""


class KeyedCoProcessFunction(Function):
    """Works on the records of one key of both streams, with state and timers of that key."""

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
