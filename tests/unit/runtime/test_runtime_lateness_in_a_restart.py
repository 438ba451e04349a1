"""Windows that have fired, and are kept for late records, when the program that goes on waits for other ones."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.datastream import DataStream
from penstock.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
)
from penstock.testing import Harness
from penstock.windows import WindowAssigner
from unit.runtime.window_restarts import SLIDING, TEN, left_over, logged_sum, windows_of_pairs

GAP = EventTimeSessionWindows.with_gap(5)


class OwnTrigger(EventTimeTrigger):
    """The same as the usual one, but nobody can know."""


def summing(assigner: WindowAssigner[Any, Any], lateness: int, *, form: str = "records") -> Harness:
    def results(windows: Any) -> DataStream:
        windows = windows.allowed_lateness(lateness)
        if form == "own trigger":
            windows = windows.trigger(OwnTrigger())
        return (windows.sum(1) if form == "columns" else windows.reduce(logged_sum)).uid("windows")

    return windows_of_pairs(assigner, results)


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
