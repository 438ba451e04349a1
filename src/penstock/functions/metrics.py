"""Metrics as user functions see them: named counters, gauges, meters and distributions in nested groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Counter(ABC):
    """A number that goes up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Adds `n`."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Takes `n` away."""

    @abstractmethod
    def get_count(self) -> int:
        """The number as it is now."""


class Meter(ABC):
    """Counts events and knows how many there were per second lately."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Says that `value` events have happened."""

    @abstractmethod
    def get_count(self) -> int:
        """All events so far."""


class Distribution(ABC):
    """How the values of a quantity are spread: their count, sum, least and greatest."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Takes one more value."""


class MetricGroup(ABC):
    """A named place for metrics and further groups. Asking twice for a name returns the same metric."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group inside this one; with `extra`, a group for the pair of a name and a value."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """The counter of that name."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int | float]) -> None:
        """Registers a function whose result is the metric; it is called when metrics are read."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter of that name; its rate is taken over the last `time_span_in_seconds`."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """The distribution of that name."""
