"""Windows that were computed in columns go on record by record: as if they had been all the time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream import AggregateFunction, DataStream
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.expressions import avg, count, max_, min_, sum_, window_end, window_start
from penstock.testing import Harness, harness
from penstock.windows import WindowAssigner
from penstock.windows.definition import WindowDefinition

RECORD = Types.ROW_NAMED(["k", "v", "x", "s"], [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.STRING()])
LOG: list[Any] = []

Make = Callable[[Any], DataStream]


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Row, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.v, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> str:
        return f"{accumulator[0]} / {accumulator[1]}"

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class LoggedMean(Mean):
    def add(self, value: Row, accumulator: tuple[int, int]) -> tuple[int, int]:
        LOG.append(value)
        return super().add(value, accumulator)


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Row, accumulator: int) -> int:
        return accumulator + value.v

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class LoggedTotal(Total):
    def add(self, value: Row, accumulator: int) -> int:
        LOG.append(value)
        return accumulator + value.v


def logged(reduce: Callable[[Row, Row], Row]) -> Callable[[Row, Row], Row]:
    def function(a: Row, b: Row) -> Row:
        LOG.append((a, b))
        return reduce(a, b)

    return function


def summed(a: Row, b: Row) -> Row:
    return Row(k=a.k, v=a.v + b.v, x=max(a.x, b.x), s=min(a.s, b.s))


def latest(a: Row, b: Row) -> Row:
    return Row(k=b.k, v=max(a.v, b.v), x=b.x, s=b.s)


def by_name(windows: Any) -> DataStream:
    return windows.aggregate(
        start=window_start(),
        end=window_end(),
        n=count(),
        some=count("x"),
        total=sum_("v"),
        real=sum_("x"),
        least=min_("x"),
        greatest=max_("s"),
        mean=avg("v"),
    )


class Functions(NamedTuple):
    """The same, as it is recognised and as it is not."""

    recognised: Make
    opaque: Make


FUNCTIONS = {
    "sums": Functions(lambda w: w.reduce(summed), lambda w: w.reduce(logged(summed))),
    "latest": Functions(lambda w: w.reduce(latest), lambda w: w.reduce(logged(latest))),
    "sum of floats": Functions(
        lambda w: w.sum("x"),
        lambda w: w.reduce(logged(lambda a, b: Row(k=a.k, v=a.v, x=a.x + b.x, s=a.s))),
    ),
    "means": Functions(lambda w: w.aggregate(Mean()), lambda w: w.aggregate(LoggedMean())),
    "totals": Functions(
        lambda w: w.aggregate(Total(), accumulator_type=Types.LONG()),
        lambda w: w.aggregate(LoggedTotal(), accumulator_type=Types.LONG()),
    ),
    "by name": Functions(by_name, by_name),
}
assigners = st.sampled_from(
    [
        TumblingEventTimeWindows.of("10 ms"),
        SlidingEventTimeWindows.of("10 ms", "5 ms"),
        SlidingEventTimeWindows.of("9 ms", "6 ms"),
        CumulativeEventTimeWindows.of("12 ms", "4 ms"),
        EventTimeSessionWindows.with_gap("5 ms"),
    ]
)
records = st.tuples(
    st.sampled_from("abc"),
    st.integers(-(2**40), 2**40),
    st.integers(-80, 80).map(lambda n: n / 8) | st.just(float("nan")),
    st.text("xyz", max_size=2),
    st.integers(0, 60),
)
steps = st.lists(records | st.integers(0, 60), max_size=20)


def windowed(make: Make, assigner: WindowAssigner[Any, Any], lateness: int, parallelism: int) -> Harness:
    return harness(
        lambda s: make(s.key_by("k").window(assigner).allowed_lateness(lateness)).uid("windows"),
        RECORD,
        parallelism=parallelism,
    )


@contextmanager
def record_by_record() -> Generator[None]:
    is_columnar = WindowDefinition.is_columnar
    WindowDefinition.is_columnar = property(lambda definition: False)  # type: ignore[method-assign]
    try:
        yield
    finally:
        WindowDefinition.is_columnar = is_columnar  # type: ignore[method-assign]


def results_of(test: Harness, given_steps: list[Any]) -> Iterator[list[str]]:
    """What comes out of every step."""
    for step in given_steps:
        if isinstance(step, int):
            test.process_watermark(step)
        else:
            test.process_element(Row(*step[:4]), step[4])
        yield sorted(map(repr, test.output()))


def switched(before: Harness, after: Harness, first: list[Any], second: list[Any]) -> list[Any]:
    found = list(results_of(before, first))
    after.restore(before.snapshot())
    if len(second) % 2:
        after.restore(after.snapshot())
    found += results_of(after, second)
    after.close()
    return [*found, sorted(map(repr, after.output()))]


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=30, deadline=None)
@given(assigners, steps, steps, st.sampled_from([0, 7]), st.sampled_from([1, 3]))
@example(  # sessions that grow together after the switch
    EventTimeSessionWindows.with_gap("5 ms"),
    [("a", 1, 1.0, "x", 1), ("a", 2, 0.5, "y", 10), ("b", 5, 0.0, "", 4)],
    [("a", 4, 2.0, "z", 6), 20],
    0,
    3,
)
@example(  # a record that comes late, but not too late
    TumblingEventTimeWindows.of("10 ms"),
    [("a", 1, 1.0, "x", 1), 8],
    [10, ("a", 2, 0.5, "y", 3), 30],
    7,
    1,
)
@example(  # a window that has fired has left a pane to the next
    SlidingEventTimeWindows.of("10 ms", "5 ms"),
    [("a", 1, 1.0, "x", 7), ("a", 2, 1.0, "x", 3), 9],
    [("a", 2, 0.5, "y", 8), 30],
    0,
    1,
)
def test_as_if_it_had_been_records_all_the_time(
    name: str, assigner: WindowAssigner[Any, Any], first: list[Any], second: list[Any], lateness: int, parallelism: int
) -> None:
    recognised, opaque = FUNCTIONS[name]
    # Aggregates by name are columns unless there is some lateness.
    lateness = max(lateness, int(name == "by name"))

    def run(make: Make) -> list[Any]:
        before = windowed(make, assigner, 0, 2)
        return switched(before, windowed(opaque, assigner, lateness, parallelism), first, second)

    found = run(recognised)
    with record_by_record():
        assert found == run(recognised)
    if lateness == 0:
        columns = windowed(recognised, assigner, 0, 1), windowed(recognised, assigner, 0, 1)
        assert found == switched(*columns, first, second)
