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
    """A named place for metrics and further groups. Asking twice for a name returns the same metric.

    >>> class Measured(MapFunction):
    ...     def open(self, runtime_context):
    ...         group = runtime_context.get_metrics_group().add_group("words")
    ...         self.short, self.rate = group.counter("short"), group.meter("rate")
    ...         self.lengths, self.last = group.distribution("lengths"), ""
    ...         group.gauge("last length", lambda: len(self.last))
    ...
    ...     def map(self, value):
    ...         self.rate.mark_event()
    ...         self.lengths.update(len(value))
    ...         if len(value) < 3:
    ...             self.short.inc()
    ...         self.last = value
    ...         return value
    >>> sink = env.from_collection(["to", "be", "that"]).map(Measured()).uid("measured").add_sink(lambda word: None)
    >>> client = env.execute_async()
    >>> result = client.wait()
    >>> metrics = client.metrics()["tasks"]["0/0"]["metrics"]  # of stage 0, subtask 0
    >>> metrics["counters"]["measured.words.short"], metrics["gauges"]["measured.words.last length"]
    (2, 4)
    >>> metrics["distributions"]["measured.words.lengths"]
    {'count': 3, 'sum': 8, 'min': 2, 'max': 4}
    """

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
