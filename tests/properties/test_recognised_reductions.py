"""Functions of windows that are recognised, and computed in columns, give what they give record by record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.errors import PenstockError
from penstock.datastream import AggregateFunction, DataStream, ReduceFunction
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import harness
from penstock.windows import WindowAssigner
from penstock.windows.definition import WindowDefinition

RECORD = Types.ROW_NAMED(["k", "v", "x", "s"], [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.STRING()])


class Widest(ReduceFunction):
    def reduce(self, value1: Row, value2: Row) -> Row:
        return Row(k=value2.k, v=max(value1.v, value2.v), x=max(value1.x, value2.x), s=min(value2.s, value1.s))


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Row, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.v * 2, 1 + accumulator[1]

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Less(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Row, accumulator: int) -> int:
        return accumulator - value.v

    def get_result(self, accumulator: int) -> str:
        return f"{accumulator}"

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


Make = Callable[[Any], DataStream]
FUNCTIONS: dict[str, Make] = {
    "sum": lambda windows: windows.sum("v"),
    "min": lambda windows: windows.min("v"),
    "max of text": lambda windows: windows.max("s"),
    "min of floats": lambda windows: windows.min("x"),
    "max of floats": lambda windows: windows.max("x"),
    "sums": lambda windows: windows.reduce(lambda a, b: Row(k=a.k, v=a.v + b.v, x=b.x, s=a.s)),
    "the first": lambda windows: windows.reduce(lambda a, b: a),
    "the last": lambda windows: windows.reduce(lambda a, b: b),
    "widest": lambda windows: windows.reduce(Widest()),
    "mean": lambda windows: windows.aggregate(Mean(), output_type=Types.DOUBLE()),
    "less": lambda windows: windows.aggregate(Less()),
}

assigners = st.sampled_from(
    [
        TumblingEventTimeWindows.of("10 ms"),
        SlidingEventTimeWindows.of("10 ms", "5 ms"),
        EventTimeSessionWindows.with_gap("5 ms"),
    ]
)
rarely_none = st.integers(0, 30).map(lambda n: n == 0)
records = st.tuples(
    st.sampled_from("abc"),
    st.one_of(st.integers(-(2**40), 2**40), st.integers(-3, 3)),
    st.sampled_from([0.5, -1.25, 3.0, float("nan")]),
    st.text("xyz", max_size=2),
    st.integers(-30, 60),
    rarely_none,
)
steps = st.lists(st.one_of(records, st.integers(-30, 70), st.just("restore")), max_size=25)


def results_of(make: Make, assigner: WindowAssigner[Any, Any], given_steps: list[Any]) -> Any:
    """What comes out of every step, or that the job fails."""
    test = harness(lambda stream: make(stream.key_by("k").window(assigner)), RECORD)
    found: list[Any] = []
    watermark = -(10**6)
    try:
        for step in given_steps:
            if step == "restore":
                test.restore(test.snapshot())
            elif isinstance(step, int):
                watermark = max(watermark, step)
                test.process_watermark(watermark)
            else:
                key, number, real, text, time, is_none = step
                test.process_element(Row(k=key, v=None if is_none else number, x=real, s=text), time)
            found.append(sorted(map(repr, test.output())))
        test.close()
    except PenstockError:
        return "fails"
    return [*found, sorted(map(repr, test.output()))]


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=40, deadline=None)
@given(assigners, steps)
@example(
    SlidingEventTimeWindows.of("10 ms", "5 ms"),
    [("a", 1, 0.5, "x", 7, False), ("a", 2, float("nan"), "y", 2, False), "restore", ("a", 3, 3.0, "", 6, False), 30],
)
def test_the_same_as_record_by_record(name: str, assigner: WindowAssigner[Any, Any], given_steps: list[Any]) -> None:
    in_columns = results_of(FUNCTIONS[name], assigner, given_steps)
    is_columnar = WindowDefinition.is_columnar
    assert isinstance(is_columnar, property)
    try:
        WindowDefinition.is_columnar = property(lambda definition: False)  # type: ignore[method-assign]
        record_by_record = results_of(FUNCTIONS[name], assigner, given_steps)
    finally:
        WindowDefinition.is_columnar = is_columnar  # type: ignore[method-assign]
    assert in_columns == record_by_record
