"""What is made of matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.functions.function import Function
from penstock.functions.output_tag import OutputTag

IN = TypeVar("IN")
OUT = TypeVar("OUT")
Match = Mapping[str, list[Any]]
"""The events of a match by the names of patterns, in the order in which the first event of each came."""


class MatchedEvents(dict[str, list[Any]]):
    """The events of a match by the names of patterns; `in_order` has them all in the order in which they came."""

    in_order: list[tuple[str, Any]]

    def __init__(self, in_order: list[tuple[str, Any]]) -> None:
        super().__init__()
        self.in_order = in_order
        for name, event in in_order:
            events = self.get(name)
            if events is None:
                self[name] = [event]
            else:
                events.append(event)

    def __reduce__(self) -> tuple[Any, ...]:
        return MatchedEvents, (self.in_order,)


class PatternProcessFunction(Function, Generic[IN, OUT]):
    """Makes any number of results of a match.

    A subclass with a method `process_timed_out_match(match, ctx)` is told of partial matches whose time ran out, too:
    `ctx.timestamp()` is then the end of that time.

    >>> class Alert(PatternProcessFunction):
    ...     def process_match(self, match, ctx):
    ...         yield f"{match['small'][0]}, then {match['large'][0]}"
    """

    class Context(ABC):
        """What `process_match` can ask. Valid during the call only."""

        @abstractmethod
        def timestamp(self) -> int:
            """The time of the match: that of its last event; or when its time limit ran out."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time; it stands still within an epoch."""

        @abstractmethod
        def output(self, tag: OutputTag, value: Any) -> None:
            """Sends a record to a side output; the same as `yield tag, value`."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key that the match was found for."""

        @abstractmethod
        def pattern_id(self) -> str:
            """Which of several patterns it is; empty where there is but one."""

    @abstractmethod
    def process_match(self, match: MatchedEvents, ctx: PatternProcessFunction.Context) -> Iterable[OUT] | None:
        """Yields the results of a match."""


@dataclass(frozen=True)
class NearMiss:
    """A partial match that came to nothing."""

    match: MatchedEvents
    """The events that it had."""
    waiting_for: tuple[str, ...]
    """The patterns that could have come next."""
    reason: str
    """What ended it."""
    event: Any
    """The event that ended it; None where time did, or a match."""
    timestamp: int
