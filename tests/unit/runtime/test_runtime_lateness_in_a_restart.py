"""Windows that have fired, and are kept for late records, when the program that goes on waits for other ones."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import DataStream
from penstock.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import Harness, harness
from penstock.windows import WindowAssigner

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
TEN = TumblingEventTimeWindows.of(10)
SLIDING = SlidingEventTimeWindows.of(10, 5)
GAP = EventTimeSessionWindows.with_gap(5)
LOG: list[Any] = []


class OwnTrigger(EventTimeTrigger):
    """The same as the usual one, but nobody can know."""


def logged_sum(a: Any, b: Any) -> Any:
    LOG.append(b)
    return a[0], a[1] + b[1]


def summing(assigner: WindowAssigner[Any, Any], lateness: int, *, form: str = "records") -> Harness:
    def build(stream: Any) -> DataStream:
        windows = stream.window(assigner).allowed_lateness(lateness)
        if form == "own trigger":
            windows = windows.trigger(OwnTrigger())
        return (windows.sum(1) if form == "columns" else windows.reduce(logged_sum)).uid("windows")

    return harness(lambda stream: build(stream.key_by(lambda pair: pair[0], Types.STRING())), PAIR)


def left_over(test: Harness) -> list[bytes]:
    """What is in the state but descriptions."""
    stored = [key for found in test.snapshot().entries.values() for key, _ in found]
    return [key for key in stored if not key.startswith(b"\x00gate") and key[8:12] != b"\0cat"]


@pytest.mark.parametrize(
    ("assigner", "before", "after"),
    [
        (TEN, "records", "records"),
        (TEN, "records", "columns"),
        (SLIDING, "records", "records"),
        (GAP, "records", "records"),
        (GAP, "records", "columns"),
        (GAP, "own trigger", "records"),
        (GAP, "records", "own trigger"),
    ],
    ids=str,
)
def test_what_has_fired_does_not_fire_again_where_there_is_no_lateness_any_more(
    assigner: WindowAssigner[Any, Any], before: str, after: str
) -> None:
    test = summing(assigner, 100, form=before)
    test.process_element(("a", 1), 3)
    test.process_element(("a", 10), 31)
    test.process_watermark(20)
    assert {result for result, _ in test.output()} == {("a", 1)}
    again = summing(assigner, 0, form=after)
    again.restore(test.snapshot())
    again.process_element(("a", 100), 3)
    again.process_element(("a", 20), 31)
    again.process_watermark(1000)
    assert {result for result, _ in again.output()} == {("a", 30)}
    assert left_over(again) == []


@pytest.mark.parametrize(("before", "after"), [(50, 20), (20, 50)])
def test_sessions_that_are_kept_for_another_time_go_when_it_is_over(before: int, after: int) -> None:
    test = summing(GAP, before)
    test.process_element(("a", 1), 3)
    test.process_watermark(10)
    assert test.output() == [(("a", 1), 7)]
    again = summing(GAP, after)
    again.restore(test.snapshot())
    again.process_element(("a", 10), 4)
    assert again.output() == [(("a", 11), 8)]
    again.process_watermark(1000)
    assert again.output() == []
    assert left_over(again) == []
