"""Windows that are computed in columns give what one record after the other gives."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream import DataStream, OutputTag
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.expressions import avg, col, count, max_, min_, sum_, window_end, window_start
from penstock.testing import harness
from penstock.windows import WindowAssigner
from penstock.windows.definition import WindowDefinition

RECORD = Types.ROW_NAMED(["k", "v", "x", "s"], [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.STRING()])
LATE = OutputTag("late", RECORD)

assigners = st.sampled_from(
    [
        TumblingEventTimeWindows.of("10 ms"),
        TumblingEventTimeWindows.of("7 ms", "3 ms"),
        SlidingEventTimeWindows.of("10 ms", "5 ms"),
        SlidingEventTimeWindows.of("9 ms", "6 ms"),
        SlidingEventTimeWindows.of("4 ms", "10 ms"),
        CumulativeEventTimeWindows.of("12 ms", "4 ms"),
        EventTimeSessionWindows.with_gap("5 ms"),
        EventTimeSessionWindows.with_gap("1 ms"),
    ]
)
# Eighths are added without rounding, whatever the order.
numbers = st.one_of(
    st.none(),
    st.integers(-800, 800).map(lambda n: n / 8),
    st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf")]),
)
records = st.tuples(
    st.sampled_from("abc"),
    st.one_of(st.none(), st.integers(-(2**40), 2**40), st.just(2**53 + 1)),
    numbers,
    st.one_of(st.none(), st.text("xyz", max_size=2)),
    st.integers(-30, 60),
)
steps = st.lists(st.one_of(records, st.integers(-30, 70), st.just("restore")), max_size=25)


def by_name(assigner: WindowAssigner[Any, Any]) -> Any:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by("k").window(assigner).side_output_late_data(LATE)
        return windows.aggregate(
            start=window_start(),
            end=window_end(),
            n=count(),
            some=count("x"),
            total=sum_("v"),
            twice=sum_(col("v") * 2),
            real=sum_("x"),
            least=min_("x"),
            greatest=max_("x"),
            first=min_("s"),
            last=max_("s"),
            mean=avg("v"),
            real_mean=avg("x"),
        )

    return build


def results_of(build: Any, given_steps: list[Any]) -> list[Any]:
    """What comes out of every step; results that come together are in the order of their text."""
    test = harness(build, RECORD)
    found: list[Any] = []
    watermark = -(10**6)
    for step in given_steps:
        if step == "restore":
            test.restore(test.snapshot())
        elif isinstance(step, int):
            watermark = max(watermark, step)
            test.process_watermark(watermark)
        else:
            test.process_element(Row(*step[:4]), step[4])
        found.append((sorted(map(repr, test.output())), sorted(map(repr, test.side_output(LATE)))))
    test.close()
    return [*found, sorted(map(repr, test.output()))]


@settings(max_examples=120, deadline=None)
@given(assigners, steps)
@example(EventTimeSessionWindows.with_gap("5 ms"), [("a", 1, -0.0, "", 3), 20])
@example(TumblingEventTimeWindows.of("10 ms"), [("a", 1, -0.0, None, 3), "restore", 5, ("a", 1, 1.0, "x", 3), 20])
def test_the_same_as_record_by_record(assigner: WindowAssigner[Any, Any], given_steps: list[Any]) -> None:
    in_columns = results_of(by_name(assigner), given_steps)
    is_columnar = WindowDefinition.is_columnar
    assert isinstance(is_columnar, property)
    try:
        WindowDefinition.is_columnar = property(lambda definition: False)  # type: ignore[method-assign]
        record_by_record = results_of(by_name(assigner), given_steps)
    finally:
        WindowDefinition.is_columnar = is_columnar  # type: ignore[method-assign]
    assert in_columns == record_by_record


def test_which_windows_are_columns() -> None:
    def definition(**changes: Any) -> WindowDefinition:
        found: list[WindowDefinition] = []

        def build(stream: DataStream) -> DataStream:
            result = by_name(TumblingEventTimeWindows.of("10 ms"))(stream)
            found.append(result.upstreams[0].transformation.arguments["window"])
            return result

        harness(build, RECORD)
        return dataclasses.replace(found[0], **changes)

    assert definition().is_columnar
    assert not definition(allowed_lateness=5).is_columnar
    assert not definition(aggregation=None).is_columnar


def test_a_sum_that_does_not_fit_fails() -> None:
    test = harness(
        lambda s: s.key_by("k").window(TumblingEventTimeWindows.of("10 ms")).aggregate(total=sum_("v")), RECORD
    )
    test.process_element(Row("a", 2**62, None, None), 1)
    test.process_element(Row("a", 2**62, None, None), 2)
    with pytest.raises(Exception, match="does not fit into 64 bits"):
        test.process_watermark(10)


def test_large_sums_that_fit_are_exact() -> None:
    test = harness(
        lambda s: s.key_by("k").window(TumblingEventTimeWindows.of("10 ms")).aggregate(total=sum_("v")), RECORD
    )
    for value in (2**62, -(2**62), 2**62, 2**61):
        test.process_element(Row("a", value, None, None), 1)
    test.process_watermark(10)
    assert test.output() == [(Row(k="a", total=2**62 + 2**61), 9)]


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize(
    "assigner", [SlidingEventTimeWindows.of("10 ms", "5 ms"), EventTimeSessionWindows.with_gap("2 ms")], ids=repr
)
def test_windows_move_with_their_key_groups(assigner: WindowAssigner[Any, Any], parallelism: int) -> None:
    build = by_name(assigner)
    before, after, alone = (
        harness(build, RECORD, parallelism=2),
        harness(build, RECORD, parallelism=parallelism),
        harness(build, RECORD),
    )
    for test in (before, alone):
        for number in range(40):
            test.process_element(Row(f"key {number % 7}", number, number / 8, None), number % 20)
        test.process_watermark(4)
        test.output()
    after.restore(before.snapshot())
    for test in (after, alone):
        test.process_element(Row("key 1", 1, None, "x"), 12)
        test.close()
    assert sorted(map(repr, after.output())) == sorted(map(repr, alone.output()))


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of("10 ms"), EventTimeSessionWindows.with_gap("10 ms")], ids=repr
)
def test_open_windows_of_records_go_on_in_columns(assigner: WindowAssigner[Any, Any]) -> None:
    def build(lateness: int) -> Any:
        def windows(stream: DataStream) -> DataStream:
            made = stream.key_by("k").window(assigner).allowed_lateness(lateness)
            return made.aggregate(
                n=count(), some=count("x"), total=sum_("v"), real=sum_("x"), least=min_("s"), mean=avg("v")
            ).uid("windows")

        return windows

    before, after = harness(build(5), RECORD, parallelism=2), harness(build(0), RECORD)
    before.process_element(Row("a", 3, None, "y"), 1)
    before.process_element(Row("b", None, 0.5, None), 1)
    before.process_element(Row("a", 4, 1.5, "x"), 2)
    after.restore(before.snapshot())
    after.process_element(Row("a", 1, 1.0, "z"), 3)
    after.process_watermark(30)
    results = sorted(tuple(row) for row, _ in after.output())
    assert results == [("a", 3, 2, 8, 2.5, "x", 8 / 3), ("b", 1, 1, None, 0.5, None, None)]
