"""Temporal joins, step by step, and against versions found by looking at all of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.datastream import DataStream, FlatJoinFunction
from penstock.functions import JoinKind
from penstock.runtime.temporal_join import TemporalJoinOperator
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


def joined(first: DataStream, second: DataStream, how: str) -> DataStream:
    join = first.key_by(key).temporal_join(second.key_by(key), how)
    join.side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT)
    return join.apply(lambda record, version: (record, version))


def by_the_book(steps: list[Step], how: str) -> tuple[Any, Any, Any]:
    """Every version that ever came is kept; a record is joined when the watermark has reached its time."""
    versions: dict[tuple[str, int], int] = {}
    waiting: list[tuple[str, int, int]] = []
    watermark, results, late_left, late_right = -(1 << 63), [], [], []
    for number, (kind, record_key, time) in enumerate([*steps, ("watermark", "", MAX)]):
        if kind == "left" and time < watermark:
            late_left.append(((record_key, number), time))
        elif kind == "left":
            waiting.append((record_key, number, time))
        elif kind == "right":
            if any(each == record_key and time < when <= watermark for each, when in versions):
                late_right.append(((record_key, number), time))
            else:
                versions[record_key, time] = number
        elif kind == "watermark" and time > watermark:
            watermark = time
            for each, left, when in [each for each in waiting if each[2] <= watermark]:
                times = [at for version_key, at in versions if version_key == each and at <= when]
                version = (each, versions[each, max(times)]) if times else None
                if version is not None or how == "left":
                    results.append((((each, left), version), when))
            waiting = [each for each in waiting if each[2] > watermark]
    return in_order(results), late_left, late_right


@settings(max_examples=150)
@given(steps=STEPS, how=st.sampled_from(["inner", "left"]))
def test_records_meet_the_version_of_their_time(steps: list[Step], how: str) -> None:
    test = driven(lambda first, second: joined(first, second, how), steps)
    results = in_order(test.output()), test.side_output(LATE_LEFT), test.side_output(LATE_RIGHT)
    assert results == by_the_book(steps, how)
    # Of each key one version is left at most, for what might still come.
    assert len(stored(test)) <= len({step[1] for step in steps if step[0] == "right"})


@settings(max_examples=50)
@given(records=RECORDS, how=st.sampled_from(["inner", "left"]))
def test_batch_execution_finds_the_same_versions(records: list[Step], how: str) -> None:
    kind = JoinKind(how)
    make = lambda: TemporalJoinOperator(lambda l, r: (l, r), kind, (None, None), (None, None), ANY)  # noqa: E731, E741
    test = Harness(make)
    test.context.batch = True
    numbered = [(side, (record_key, number), time) for number, (side, record_key, time) in enumerate(records)]
    for record_key in "ab":
        own = [each for each in numbered if each[1][0] == record_key]
        for side, record, time in sorted(own, key=lambda each: each[2]):
            test.process([record], key=key, timestamps=[time], on=0 if side == "left" else 1)
        test.operator.end_key()
    assert in_order(test.taken()) == by_the_book(records, how)[0]


class Price(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        if second[1] > 0:
            yield first[1] * second[1]


def test_a_record_waits_for_the_watermark_and_keeps_its_timestamp() -> None:
    test = harness(lambda orders, prices: orders.key_by(key).temporal_join(prices.key_by(key)).apply(Price()))
    test.process_element1(("fig", 3), 15)
    test.process_element2(("fig", 2), 10)
    test.process_watermark(14)
    assert test.output() == []
    test.process_element2(("fig", 5), 12)
    test.restore(test.snapshot())
    test.process_watermark(15)
    assert test.output() == [(15, 15)]


def test_the_last_of_two_versions_of_the_same_time_counts() -> None:
    test = harness(lambda first, second: joined(first, second, "inner"))
    test.process_element2(("k", 1), 5)
    test.process_element2(("k", 2), 5)
    test.process_element1(("k", 3), 5)
    test.process_watermark(5)
    assert test.output() == [((("k", 3), ("k", 2)), 5)]


def test_a_failure_names_the_record() -> None:
    def fail(record: Any, version: Any) -> None:
        raise ValueError("no")

    place = JoinKind.LEFT, (Types.PICKLED_BYTE_ARRAY(), None), (None, None), ANY
    test = Harness(lambda: TemporalJoinOperator(fail, *place))
    test.process([("a", 1)], key=key, timestamps=[1], on=0)
    with pytest.raises(UserFunctionError) as failure:
        test.watermark(1)
    assert (failure.value.report.record, failure.value.report.key) == ("('a', 1)", "'a'")


def test_a_record_without_a_timestamp_is_refused() -> None:
    test = Harness(lambda: TemporalJoinOperator(lambda *_: 1, JoinKind.LEFT, (None, None), (None, None), ANY))
    with pytest.raises(UserFunctionError, match="without a timestamp"):
        test.process([("a", 1)], key=key, on=1)


def test_a_version_is_kept_for_records_at_the_watermark_itself() -> None:
    test = harness(lambda first, second: joined(first, second, "left"))
    test.process_element2(("k", 1), 5)
    test.process_watermark(10)
    test.process_element2(("k", 2), 11)
    test.process_element1(("k", 3), 10)
    test.process_watermark(11)
    assert test.output() == [((("k", 3), ("k", 1)), 10)]
