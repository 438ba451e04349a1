"""Functions of matches that are simpler than a `PatternProcessFunction`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from penstock.functions import Function, OutputTag, RuntimeContext
from penstock.functions.adapt import close_function, open_function
from penstock.patterns import Match, MatchedEvents, PatternProcessFunction

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class PatternSelectFunction(Function, Generic[IN, OUT]):
    """Makes one result of a match."""

    @abstractmethod
    def select(self, pattern: Match) -> OUT:
        """The result."""


class PatternFlatSelectFunction(Function, Generic[IN, OUT]):
    """Makes any number of results of a match."""

    @abstractmethod
    def flat_select(self, pattern: Match) -> Iterable[OUT] | None:
        """Yields the results."""


class PatternTimeoutFunction(Function, Generic[IN, OUT]):
    """Makes one result of a partial match whose time ran out."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> OUT:
        """The result."""


class PatternFlatTimeoutFunction(Function, Generic[IN, OUT]):
    """Makes any number of results of a partial match whose time ran out."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Iterable[OUT] | None:
        """Yields the results."""


class SelectAdapter(PatternProcessFunction[Any, Any]):
    """A select function as a process function."""

    def __init__(self, given: Any, call: Callable[[Match], Any], *, is_flat: bool) -> None:
        self._given = given
        self._call = call
        self._is_flat = is_flat

    @property
    def wrapped_function(self) -> Any:
        """The function inside."""
        return self._given

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens the function inside."""
        open_function(self._given, runtime_context)

    def close(self) -> None:
        """Closes the function inside."""
        close_function(self._given)

    def process_match(self, match: MatchedEvents, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """What the function gives."""
        result = self._call(match)
        return result if self._is_flat else (result,)


class TimeoutSelectAdapter(SelectAdapter):
    """The same, with a function of partial matches whose time ran out; its results go to a side output."""

    def __init__(
        self,
        given: Any,
        call: Callable[[Match], Any],
        timeout_given: Any,
        timeout_call: Callable[[Match, int], Any],
        tag: OutputTag,
        *,
        is_flat: bool,
    ) -> None:
        super().__init__(given, call, is_flat=is_flat)
        self._timeout_given = timeout_given
        self._timeout_call = timeout_call
        self._tag = tag

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens both functions."""
        super().open(runtime_context)
        open_function(self._timeout_given, runtime_context)

    def close(self) -> None:
        """Closes both functions."""
        super().close()
        close_function(self._timeout_given)

    def process_timed_out_match(self, match: MatchedEvents, ctx: PatternProcessFunction.Context) -> None:
        """Sends what the function gives to the side output."""
        result = self._timeout_call(match, ctx.timestamp())
        for each in (result or ()) if self._is_flat else (result,):
            ctx.output(self._tag, each)
