"""Interval joins that let records without a partner through: which, when, and with which time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import StateError, UserFunctionError
from penstock.datastream import DataStream, OutputTag, ProcessJoinFunction
from penstock.functions import JoinKind
from penstock.runtime.outer_interval_join import OuterIntervalJoinOperator
from penstock.testing import harness
from unit.runtime.join_steps import LATE_LEFT, LATE_RIGHT, MAX, RECORDS, STEPS, Step, driven, in_order, key, stored
from unit.runtime.operator_harness import ANY, Harness
from unit.runtime.test_runtime_interval_join import BOUNDS, by_the_book

OUTER = st.sampled_from([JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL])


def pair(left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
    left_time = None if left is None else ctx.get_left_timestamp()
    right_time = None if right is None else ctx.get_right_timestamp()
    yield (left, right, left_time, right_time), ctx.get_timestamp()


def joined(first: DataStream, second: DataStream, lower: int, upper: int, kind: JoinKind) -> DataStream:
    bounds = first.key_by(key).interval_join(second.key_by(key), how=kind.value).between(lower, upper)
    return bounds.side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT).process(pair)


def with_unpaired(pairs: list[Any], records: list[Any], lower: int, upper: int, kind: JoinKind) -> list[Any]:
    """The pairs, and every record (side, record, time) that is let through and in none of them."""
    paired = {("left", left) for (left, *_), _ in pairs} | {("right", right) for (_, right, *_), _ in pairs}
    results = list(pairs)
    for side, record, time in records:
        if (side, record) in paired:
            continue
        if side == "left" and kind.keeps_left:
            results.append(((record, None, time, None), time + max(upper, 0)))
        if side == "right" and kind.keeps_right:
            results.append(((None, record, None, time), time + max(-lower, 0)))
    return in_order([((result, stamp), stamp) for result, stamp in results])


@settings(max_examples=150)
@given(steps=STEPS, bounds=BOUNDS, kind=OUTER)
def test_every_record_in_time_comes_in_pairs_or_once_alone(
    steps: list[Step], bounds: list[int], kind: JoinKind
) -> None:
    test = driven(lambda first, second: joined(first, second, *bounds, kind), steps)
    pairs, *late = by_the_book(steps, *bounds)
    assert [test.side_output(LATE_LEFT), test.side_output(LATE_RIGHT)] == late
    too_late = {("left", record) for record, _ in late[0]} | {("right", record) for record, _ in late[1]}
    numbered = [(side, (each, number), time) for number, (side, each, time) in enumerate(steps)]
    in_time = [each for each in numbered if each[0] in ("left", "right") and each[:2] not in too_late]
    assert in_order(test.output()) == with_unpaired(pairs, in_time, *bounds, kind)
    assert stored(test) == []


@settings(max_examples=50)
@given(records=RECORDS, bounds=BOUNDS, kind=OUTER)
def test_batch_execution_lets_the_same_records_through(records: list[Step], bounds: list[int], kind: JoinKind) -> None:
    test = Harness(lambda: OuterIntervalJoinOperator(pair, *bounds, kind, (None, None), (None, None), ANY))
    test.context.batch = True
    numbered = [(side, (each, number), time) for number, (side, each, time) in enumerate(records)]
    for record_key in "ab":
        own = [each for each in numbered if each[1][0] == record_key]
        for side, record, time in sorted(own, key=lambda each: each[2]):
            test.process([record], key=key, timestamps=[time], on=0 if side == "left" else 1)
        test.operator.end_key()
    pairs, _, _ = by_the_book([*records, ("watermark", "", MAX)], *bounds)
    assert in_order(test.taken()) == with_unpaired(pairs, numbered, *bounds, kind)


def steps_of(lower: int, upper: int, kind: JoinKind, restarts: bool) -> Harness:
    make = lambda: OuterIntervalJoinOperator(alone, lower, upper, kind, (None, None), (None, None), ANY)  # noqa: E731
    return Harness(make, restarts=restarts)


def alone(left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
    yield left, right


@pytest.mark.parametrize("restarts", [False, True])
def test_a_record_comes_alone_as_soon_as_no_partner_can_come(restarts: bool) -> None:
    test = steps_of(-10, 100, JoinKind.FULL, restarts)
    test.process(["l"], key=lambda _: "k", timestamps=[7], on=0)
    test.process(["r"], key=lambda _: "k", timestamps=[200], on=1)
    test.watermark(106)
    assert test.taken() == []
    test.watermark(107)
    assert test.taken() == [(("l", None), 107)]
    test.watermark(209)
    assert test.taken() == []
    test.watermark(210)
    assert test.taken() == [((None, "r"), 210)]


@pytest.mark.parametrize("restarts", [False, True])
def test_who_has_had_a_partner_is_known_when_that_one_is_gone(restarts: bool) -> None:
    test = steps_of(0, 100, JoinKind.LEFT, restarts)
    test.process(["l1"], key=lambda _: "k", timestamps=[10], on=0)
    test.process(["r"], key=lambda _: "k", timestamps=[10], on=1)
    assert test.taken() == [(("l1", "r"), 10)]
    test.watermark(10)
    test.process(["l2"], key=lambda _: "k", timestamps=[10], on=0)
    test.watermark(MAX)
    assert test.taken() == [(("l2", None), 110)]


SINGLE = OutputTag("single")


class Singles(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        if right is None:
            ctx.output(SINGLE, left)
        yield from ()


def test_a_function_can_send_single_records_to_a_side_output() -> None:
    test = harness(lambda a, b: a.key_by(key).interval_join(b.key_by(key), how="left").between(0, 5).process(Singles()))
    test.process_element1(("k", 1), 10)
    test.process_watermark(15)
    assert test.side_output(SINGLE) == [(("k", 1), 15)]


def test_a_failure_names_the_single_record_and_what_to_ask() -> None:
    def fail(left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        yield ctx.get_right_timestamp()

    test = Harness(lambda: OuterIntervalJoinOperator(fail, 0, 5, JoinKind.LEFT, (None, None), (None, None), ANY))
    test.process([("a", 1)], key=key, timestamps=[1], on=0)
    with pytest.raises(UserFunctionError, match="ask `if right is not None` before") as failure:
        test.watermark(9)
    assert (failure.value.report.record, failure.value.report.key) == ("('a', 1)", "'a'")


@pytest.mark.parametrize(("before", "after"), [("inner", "left"), ("left", "inner"), ("full", "right")])
def test_records_of_another_kind_of_join_are_refused(before: str, after: str) -> None:
    def build(how: str) -> Any:
        return lambda a, b: joined(a, b, 0, 5, JoinKind(how)).uid("join")

    test = harness(build(before))
    test.process_element1(("k", 1), 10)
    snapshot = test.snapshot()
    with pytest.raises(StateError, match="an interval_join with another `how`"):
        harness(build(after)).restore(snapshot)
    test.process_watermark(15)
    harness(build(after)).restore(test.snapshot())
