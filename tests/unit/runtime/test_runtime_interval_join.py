"""Interval joins, step by step, and against pairs found by looking at all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.datastream import DataStream, OutputTag, ProcessJoinFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.interval_join import IntervalJoinOperator
from penstock.testing import harness
from unit.runtime.join_steps import (
    LATE_LEFT,
    LATE_RIGHT,
    MAX,
    RECORDS,
    STEPS,
    Step,
    driven,
    in_order,
    key,
    stored,
)
from unit.runtime.operator_harness import ANY, Harness


def pair(left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
    yield left, right, ctx.get_left_timestamp(), ctx.get_right_timestamp()


def joined(first: DataStream, second: DataStream, lower: int, upper: int) -> DataStream:
    bounds = first.key_by(key).interval_join(second.key_by(key)).between(lower, upper)
    return bounds.side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT).process(pair)


def by_the_book(steps: list[Step], lower: int, upper: int) -> tuple[Any, Any, Any]:
    """A timer for every record takes its whole bucket away, as Flink describes it."""
    kept: dict[str, dict[tuple[str, int], list[int]]] = {"left": defaultdict(list), "right": defaultdict(list)}
    keep = {"left": max(upper, 0), "right": max(-lower, 0)}
    timers: set[tuple[int, str, str, int]] = set()
    late: dict[str, list[Any]] = {"left": [], "right": []}
    watermark, results = -(1 << 63), []
    for number, (kind, record_key, time) in enumerate(steps):
        if kind == "watermark" and time > watermark:
            watermark = time
            for timer in [each for each in timers if each[0] <= time]:
                timers.discard(timer)
                kept[timer[1]].pop((timer[2], timer[3]), None)
        if kind not in kept:
            continue
        if time < watermark:
            late[kind].append(((record_key, number), time))
            continue
        kept[kind][record_key, time].append(number)
        timers.add((time + keep[kind], kind, record_key, time))
        for (other_key, other_time), others in kept["right" if kind == "left" else "left"].items():
            left_time, right_time = (time, other_time) if kind == "left" else (other_time, time)
            if other_key == record_key and left_time + lower <= right_time <= left_time + upper:
                for other in others:
                    one, two = (number, other) if kind == "left" else (other, number)
                    result = (record_key, one), (record_key, two), left_time, right_time
                    results.append((result, max(time, other_time)))
    return in_order(results), late["left"], late["right"]


BOUNDS = st.tuples(st.integers(-12, 12), st.integers(-12, 12)).map(sorted)


@settings(max_examples=150)
@given(steps=STEPS, bounds=BOUNDS)
def test_pairs_late_records_and_clean_up_are_by_the_book(steps: list[Step], bounds: list[int]) -> None:
    test = driven(lambda first, second: joined(first, second, *bounds), steps)
    results = in_order(test.output()), test.side_output(LATE_LEFT), test.side_output(LATE_RIGHT)
    assert results == by_the_book(steps, *bounds)
    assert stored(test) == []


@settings(max_examples=50)
@given(records=RECORDS, bounds=BOUNDS)
def test_batch_execution_finds_all_pairs(records: list[Step], bounds: list[int]) -> None:
    test = Harness(lambda: IntervalJoinOperator(pair, *bounds, (None, None), (None, None), ANY))
    test.context.batch = True
    numbered = [(kind, (record_key, number), time) for number, (kind, record_key, time) in enumerate(records)]
    for record_key in "ab":
        own = [each for each in numbered if each[1][0] == record_key]
        for kind, record, time in sorted(own, key=lambda each: each[2]):
            test.process([record], key=key, timestamps=[time], on=0 if kind == "left" else 1)
        test.operator.end_key()
    expected, _, _ = by_the_book([*records, ("watermark", "", MAX)], *bounds)
    assert in_order(test.taken()) == expected


@pytest.mark.parametrize("restarts", [False, True])
def test_partners_come_in_the_order_of_their_time(restarts: bool) -> None:
    test = Harness(
        lambda: IntervalJoinOperator(pair, -5, 5, (Types.STRING(), Types.STRING()), (None, None), ANY),
        restarts=restarts,
    )
    same = lambda _: "k"  # noqa: E731
    test.process(["r1", "r2", "r3", "r4"], key=same, timestamps=[14, 6, 10, 6], on=1)
    test.process(["l"], key=same, timestamps=[10], on=0)
    assert test.taken() == [
        (("l", "r2", 10, 6), 10),
        (("l", "r4", 10, 6), 10),
        (("l", "r3", 10, 10), 10),
        (("l", "r1", 10, 14), 14),
    ]


def test_bounds_can_be_taken_out_of_the_interval() -> None:
    def build(first: DataStream, second: DataStream) -> DataStream:
        bounds = first.key_by(key).interval_join(second.key_by(key)).in_event_time().between("-2 ms", "3 ms")
        return bounds.lower_bound_exclusive().upper_bound_exclusive().process(pair)

    test = harness(build)
    test.process_element1(("k", 0), 10)
    for time in range(7, 15):
        test.process_element2(("k", time), time)
    assert [right[1] for (_, right, _, _), _ in test.output()] == [9, 10, 11, 12]


def test_what_came_with_the_watermark_itself_is_kept_until_the_next_one() -> None:
    test = harness(lambda first, second: joined(first, second, 0, 0))
    test.process_element1(("k", 1), 10)
    test.process_watermark(10)
    test.process_element2(("k", 2), 10)
    assert test.output() == []
    test.process_element1(("k", 3), 10)
    assert test.output() == [((("k", 3), ("k", 2), 10, 10), 10)]
    test.process_watermark(11)
    assert stored(test) == []


def test_what_is_over_counts_no_more_even_before_it_is_removed() -> None:
    test = harness(lambda first, second: joined(first, second, 0, 20))
    test.process_element1(("k", 1), 11)
    test.process_element1(("k", 2), 12)
    test.process_watermark(31)
    test.process_element2(("k", 3), 31)
    assert test.output() == [((("k", 2), ("k", 3), 12, 31), 31)]
    test.process_watermark(36)
    assert stored(test) == []


def test_late_records_that_nobody_reads_are_counted() -> None:
    test = harness(
        lambda first, second: first.key_by(key).interval_join(second.key_by(key)).between(0, 5).process(pair)
    )
    test.process_watermark(20)
    test.process_element1(("k", 1), 19)
    test.process_element2(("k", 2), 19)
    test.process_element2(("k", 3), 20)
    assert test.counter("num_late_records_dropped") == 2


SLOW = OutputTag("slow", Types.LONG())


class Counted(ProcessJoinFunction):
    """Numbers the pairs of a key, in its state."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.output(SLOW, ctx.get_right_timestamp() - ctx.get_left_timestamp())
        yield left[0], self.count.value(), ctx.get_timestamp()


def test_a_function_has_state_and_side_outputs() -> None:
    test = harness(
        lambda first, second: first.key_by(key).interval_join(second.key_by(key)).between(0, 9).process(Counted())
    )
    test.process_element1(("a", 1), 1)
    test.process_element2(("a", 2), 4)
    test.restore(test.snapshot())
    test.process_element2(("a", 3), 6)
    assert test.output() == [(("a", 1, 4), 4), (("a", 2, 6), 6)]
    assert test.side_output(SLOW) == [(3, 4), (5, 6)]


def test_a_failure_names_the_record_and_the_key() -> None:
    def fail(left: Any, right: Any, ctx: Any) -> None:
        raise ValueError("no")

    test = Harness(lambda: IntervalJoinOperator(fail, 0, 5, (None, None), (None, None), ANY))
    test.process([("a", 1)], key=key, timestamps=[1], on=0)
    with pytest.raises(UserFunctionError) as failure:
        test.process([("b", 2), ("a", 3)], key=key, timestamps=[2, 3], on=1)
    assert (failure.value.report.record, failure.value.report.key) == ("('a', 3)", "'a'")


def test_a_record_without_a_timestamp_is_refused() -> None:
    test = Harness(lambda: IntervalJoinOperator(pair, 0, 5, (None, None), (None, None), ANY))
    with pytest.raises(UserFunctionError, match="without a timestamp came to 'Sessions', which joins by event time"):
        test.process([("a", 1)], key=key, on=0)
