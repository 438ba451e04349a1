"""The metrics of an operator subtask, counted in memory and read as plain data."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.functions import metrics as interface

LATE_RECORDS_DROPPED = "num_late_records_dropped"
"""Counts what came too late, and went to no side output."""


class Counter(interface.Counter):
    """A number that goes up and down."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Adds `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Takes `n` away."""
        self._count -= n

    def get_count(self) -> int:
        """The number as it is now."""
        return self._count


class Meter(interface.Meter):
    """Counts events; `get_rate` is events per second over the last time span, in steps of a second."""

    def __init__(self, time_span_in_seconds: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._count = 0
        self._span = time_span_in_seconds
        self._started = clock()
        self._marks: deque[tuple[int, int]] = deque()
        """(second, count before the first event of that second), oldest first."""

    def mark_event(self, value: int = 1) -> None:
        """Says that `value` events have happened."""
        second = int(self._clock())
        marks = self._marks
        if not marks or marks[-1][0] != second:
            marks.append((second, self._count))
            while marks[0][0] < second - self._span:
                marks.popleft()
        self._count += value

    def get_count(self) -> int:
        """All events so far."""
        return self._count

    def get_rate(self) -> float:
        """Events per second over the last time span, or since the start when that is less."""
        now = self._clock()
        since = now - self._span
        counted_before = next((count for second, count in self._marks if second >= since), self._count)
        return (self._count - counted_before) / max(1.0, min(self._span, now - self._started))


class Distribution(interface.Distribution):
    """Count, sum, least and greatest of the values of a quantity."""

    def __init__(self) -> None:
        self._count = 0
        self._sum: float = 0
        self._min: float = 0
        self._max: float = 0

    def update(self, value: float) -> None:
        """Takes one more value."""
        if self._count == 0:
            self._min = self._max = value
        elif value < self._min:
            self._min = value
        elif value > self._max:
            self._max = value
        self._count += 1
        self._sum += value

    def snapshot(self) -> dict[str, float]:
        """Count, sum, least and greatest as plain data."""
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max}


class MetricGroup(interface.MetricGroup):
    """A named place for metrics and further groups. Asking twice for a name returns the same metric."""

    def __init__(self) -> None:
        self._groups: dict[str, MetricGroup] = {}
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Callable[[], int | float]] = {}
        self._meters: dict[str, Meter] = {}
        self._distributions: dict[str, Distribution] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group inside this one; with `extra`, a group for the pair of a name and a value."""
        group = self._groups.setdefault(name, MetricGroup())
        return group if extra is None else group.add_group(extra)

    def counter(self, name: str) -> Counter:
        """The counter of that name."""
        return self._counters.setdefault(name, Counter())

    def counted(self, name: str) -> int | None:
        """What the counter of that name has come to; None where there is none."""
        counter = self._counters.get(name)
        return None if counter is None else counter.get_count()

    def gauge(self, name: str, obj: Callable[[], int | float]) -> None:
        """Registers a function whose result is the metric; it is called when metrics are read."""
        self._gauges[name] = obj

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter of that name; its rate is taken over the last `time_span_in_seconds`."""
        return self._meters.setdefault(name, Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """The distribution of that name."""
        return self._distributions.setdefault(name, Distribution())

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """All metrics as plain data: by kind, then by name; names inside groups are joined with dots."""
        result: dict[str, dict[str, Any]] = {
            "counters": {name: counter.get_count() for name, counter in self._counters.items()},
            "gauges": {name: _read(gauge) for name, gauge in self._gauges.items()},
            "meters": {
                name: {"count": meter.get_count(), "rate": meter.get_rate()} for name, meter in self._meters.items()
            },
            "distributions": {name: each.snapshot() for name, each in self._distributions.items()},
        }
        for group_name, group in self._groups.items():
            for kind, metrics in group.snapshot().items():
                result[kind].update({f"{group_name}.{name}": value for name, value in metrics.items()})
        return result


def _read(gauge: Callable[[], int | float]) -> int | float | None:
    """A gauge is user code that runs while metrics are read: its failure must not become the job's."""
    try:
        return gauge()
    except Exception:
        return None
