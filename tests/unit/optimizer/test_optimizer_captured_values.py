"""What functions capture has another value when the job runs than it had when it was planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.expressions import count, window_end
from penstock.tracing import NotTraceable, TracedAccumulation, trace_reduction

LONG = Types.LONG()
RECORD = Types.ROW_NAMED(["k", "a", "b"], [LONG, LONG, LONG])
STAMPS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("a")
WINDOWS = TumblingEventTimeWindows.of("1 s")
NEVER_TRACED = "trace-functions,reduce-in-columns"

KEEP, FIELD, BEST, START, RATE = True, "a", max, 0, 2


@pytest.fixture(autouse=True)
def planned() -> Iterator[None]:
    yield
    _set(True, "a", max, 0)


def _set(keep: bool, field: str, best: Any, start: int) -> None:
    global KEEP, FIELD, BEST, START
    KEEP, FIELD, BEST, START = keep, field, best, start


def records_of_another_time(n: int) -> Row:
    """With the first record, all values are others."""
    _set(False, "b", min, 10)
    return Row(k=1, a=n, b=n % 2 * 100)


def chosen(record: Any) -> Any:
    return record.a if KEEP else record.b


def field_of(record: Any) -> Any:
    return record[FIELD]


def summed(one: Any, other: Any) -> Any:
    return Row(k=one.k, a=one.a, b=one.b + other.b if KEEP else max(one.b, other.b))


def best(one: Any, other: Any) -> Any:
    return Row(k=one.k, a=one.a, b=BEST(one.b, other.b))


def added(one: Any, other: Any) -> Any:
    return one + other if KEEP else max(one, other)


class Total(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value.b if KEEP else max(accumulator, value.b)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class TotalByFunction(Total):
    def add(self, value: Any, accumulator: Any) -> Any:
        return added(accumulator, value.b)


class TotalFromStart(Total):
    def create_accumulator(self) -> Any:
        return START

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value.b


class WeightedTotal(TotalFromStart):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + chosen_number(value.b) * RATE


def chosen_number(number: int) -> int:
    return number + 1


def stamped(records: DataStream) -> DataStream:
    return records.rebalance().assign_timestamps_and_watermarks(STAMPS)


def by_chosen_time(records: DataStream) -> DataStream:
    stamps = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: chosen(r))
    windows = TumblingEventTimeWindows.of("50 ms")
    timed = records.rebalance().assign_timestamps_and_watermarks(stamps)
    return timed.key_by("k").window(windows).aggregate(n=count(), end=window_end())


PROGRAMS: dict[str, Callable[[DataStream], DataStream]] = {
    "a branch": lambda records: records.rebalance().map(chosen, LONG),
    "a field": lambda records: records.rebalance().map(field_of, LONG),
    "a condition": lambda records: records.rebalance().filter(lambda r: chosen(r) > 5).map(lambda r: r.k, LONG),
    "a key": lambda records: stamped(records).key_by(chosen, LONG).window(WINDOWS).aggregate(n=count()),
    "timestamps": by_chosen_time,
    "what is the same for a key": lambda records: (
        stamped(records).key_by(chosen, LONG).window(WINDOWS).reduce(lambda x, y: Row(k=x.k, a=y.a, b=x.b))
    ),
    "a rolling reduction": lambda records: records.key_by("k").reduce(summed),
    "a rolling reduction by a function": lambda records: records.key_by("k").reduce(best),
    "a reduction of windows": lambda records: stamped(records).key_by("k").window(WINDOWS).reduce(summed),
    "windows by a function": lambda records: stamped(records).key_by("k").window(WINDOWS).reduce(best),
    "an aggregate": lambda records: stamped(records).key_by("k").window(WINDOWS).aggregate(Total()),
    "an aggregate by a function": lambda records: (
        stamped(records).key_by("k").window(WINDOWS).aggregate(TotalByFunction())
    ),
    "where an aggregate begins": lambda records: (
        stamped(records).key_by("k").window(WINDOWS).aggregate(TotalFromStart())
    ),
}


def results(program: str, disabled: str) -> list[str]:
    _set(True, "a", max, 0)
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("optimizer.disabled-rules", disabled)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    return list(
        map(repr, PROGRAMS[program](env.from_sequence(1, 9).map(records_of_another_time, RECORD)).execute_and_collect())
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_those_of_the_functions_themselves(program: str) -> None:
    expected = results(program, NEVER_TRACED)
    assert expected
    assert results(program, "") == expected


@pytest.mark.parametrize("function", [summed, best, lambda one, other: summed(one, other)])  # noqa: PLW0108
def test_a_reduction_that_may_become_another_is_not_recognised(function: Any) -> None:
    with pytest.raises(NotTraceable, match="what it captures decides how records are combined, and may be changed at "):
        trace_reduction(function, RECORD)


def test_an_aggregate_that_adds_whatever_is_captured_is_recognised() -> None:
    assert str(TracedAccumulation(WeightedTotal(), RECORD)) == "sum of (value.b + 1) * RATE"
