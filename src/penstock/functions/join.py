"""Functions that are called with records of two streams that belong together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.functions.function import Function
from penstock.functions.output_tag import OutputTag

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes one result of each pair of records. In an outer join one of the two may be None.

    >>> class Priced(JoinFunction):
    ...     def join(self, first, second):
    ...         return first[0], first[1] * second[1]
    >>> Priced().join(("fig", 3), ("fig", 0.5))
    ('fig', 1.5)
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """The result of a pair."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes any number of results of each pair of records. In an outer join one of the two may be None.

    >>> class Cheap(FlatJoinFunction):
    ...     def join(self, first, second):
    ...         if second[1] < 1:
    ...             yield first[0], second[1]
    >>> list(Cheap().join(("fig", 3), ("fig", 0.5)))
    [('fig', 0.5)]
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Yields the results of a pair."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes any number of results of all records that a key has in a window, of both streams.

    Each is a list that can be iterated over again and again; one of them may be empty.

    >>> class Unpaid(CoGroupFunction):
    ...     def co_group(self, first, second):
    ...         if not second:
    ...             yield from first
    >>> list(Unpaid().co_group(["order"], []))
    ['order']
    """

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Yields the results of a window that fires."""


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes any number of results of each pair of records that are close in time; `interval_join` calls it.

    In an outer join one of the two may be None; it has no timestamp then.

    >>> class Delay(ProcessJoinFunction):
    ...     def process_element(self, left, right, ctx):
    ...         yield left, ctx.get_right_timestamp() - ctx.get_left_timestamp()
    """

    class Context(ABC):
        """What `process_element` can ask. Valid during the call only."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The timestamp of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """The timestamp of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp of the results: the greater of the two; without a partner, when that was certain."""

        @abstractmethod
        def output(self, tag: OutputTag, value: Any) -> None:
            """Sends a record to a side output; the same as `yield tag, value`."""

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context) -> Iterable[OUT] | None:
        """Yields the results of a pair."""
