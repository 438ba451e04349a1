"""Open windows that are none of those that the program has now: they are refused, not taken for them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import StateError, StateMisfitError
from penstock.datastream import DataStream
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTumblingWindowAssigner,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.state.catalogue import StateCatalogue
from penstock.testing import Harness
from penstock.windows import WindowAssigner
from unit.runtime.window_restarts import SLIDING, TEN, logged_sum, windows_of_pairs

GAP = EventTimeSessionWindows.with_gap(10)


def summing(assigner: WindowAssigner[Any, Any], form: str, trigger: Trigger[Any, Any] | None = None) -> Harness:
    def results(windows: Any) -> DataStream:
        windows = windows if trigger is None else windows.trigger(trigger)
        return (windows.sum(1) if form == "columns" else windows.reduce(logged_sum)).uid("windows")

    return windows_of_pairs(assigner, results)


OTHERS = [
    (TEN, TumblingEventTimeWindows.of(5)),
    (TEN, TumblingEventTimeWindows.of(30)),
    (TEN, TumblingEventTimeWindows.of(10, 3)),
    (TEN, GAP),
    (GAP, TEN),
]
IN_PANES = [
    (TEN, SLIDING),
    (SLIDING, SlidingEventTimeWindows.of(15, 5)),
    (SLIDING, CumulativeEventTimeWindows.of(10, 5)),
]


@pytest.mark.parametrize(
    ("first", "second", "before", "after"),
    [
        *((*windows, "columns", "columns") for windows in OTHERS + IN_PANES),
        *((*windows, "columns", "records") for windows in OTHERS + IN_PANES),
        *((*windows, "records", "columns") for windows in OTHERS),
        *((*windows, "records", "records") for windows in [(TEN, GAP), (GAP, TEN)]),
    ],
    ids=str,
)
def test_other_windows_are_refused(
    first: WindowAssigner[Any, Any], second: WindowAssigner[Any, Any], before: str, after: str
) -> None:
    test = summing(first, before)
    test.process_element(("a", 1), 16)
    with pytest.raises(StateError, match="open windows"):
        summing(second, after).restore(test.snapshot())
    again = summing(first, before)
    again.restore(test.snapshot())
    again.process_watermark(100)
    assert {result for result, _ in again.output()} == {("a", 1)}


@pytest.mark.parametrize(
    ("first", "second", "after"),
    [
        (GlobalWindows.create(), TEN, "records"),
        (GlobalWindows.create(), TEN, "columns"),
        (TEN, GlobalWindows.create(), "records"),
        (TEN, CountTumblingWindowAssigner.of(3), "records"),
        (TEN, TumblingProcessingTimeWindows.of(10), "records"),
        (TEN, TumblingProcessingTimeWindows.of(10), "columns"),
        (TumblingProcessingTimeWindows.of(10), TEN, "records"),
        (TumblingProcessingTimeWindows.of(10), TEN, "columns"),
        (GAP, ProcessingTimeSessionWindows.with_gap(10), "records"),
    ],
    ids=str,
)
def test_windows_of_another_time_or_class_are_refused(
    first: WindowAssigner[Any, Any], second: WindowAssigner[Any, Any], after: str
) -> None:
    test = summing(first, "records")
    test.process_element(("a", 1), 16)
    with pytest.raises(StateMisfitError, match=r"and those of|than those of"):
        summing(second, after).restore(test.snapshot())


def test_what_a_trigger_has_left_of_windows_that_were_purged_is_not_taken_for_others() -> None:
    purging = PurgingTrigger.of(ContinuousEventTimeTrigger.of(5))
    test = summing(GlobalWindows.create(), "records", purging)
    test.process_element(("a", 1), 3)
    test.process_watermark(8)
    assert [result for result, _ in test.output()] == [("a", 1)]
    again = summing(TEN, "records", purging)
    again.restore(test.snapshot())
    again.process_element(("a", 2), 12)
    again.process_watermark(100)
    assert [result for result, _ in again.output()] == [("a", 2)]


@pytest.mark.parametrize(("first", "second"), [*OTHERS, *IN_PANES], ids=str)
def test_other_windows_go_on_where_none_is_open(
    first: WindowAssigner[Any, Any], second: WindowAssigner[Any, Any]
) -> None:
    test = summing(first, "columns")
    test.process_element(("a", 1), 16)
    test.process_watermark(100)
    again = summing(second, "columns")
    again.restore(test.snapshot())
    again.process_element(("a", 2), 104)
    again.process_watermark(1000)
    assert {result for result, _ in again.output()} == {("a", 2)}


@pytest.mark.parametrize("form", ["columns", "records"])
def test_sessions_with_another_gap_go_on(form: str) -> None:
    test = summing(EventTimeSessionWindows.with_gap(30), form)
    test.process_element(("a", 1), 16)
    again = summing(GAP, form)
    again.restore(test.snapshot())
    again.process_element(("a", 2), 40)
    again.process_element(("a", 4), 60)
    again.process_watermark(100)
    assert again.output() == [(("a", 3), 49), (("a", 4), 69)]


@pytest.mark.parametrize("form", ["columns", "records"])
@pytest.mark.parametrize("assigner", [TEN, SLIDING, GAP], ids=str)
def test_windows_of_a_program_that_did_not_put_down_which_they_were_go_on(
    assigner: WindowAssigner[Any, Any], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = StateCatalogue.add

    def add_without_windows(*given: Any, type_name: str | None = None, **named: Any) -> None:
        add(*given, **named)

    with monkeypatch.context() as older:
        older.setattr(StateCatalogue, "add", add_without_windows)
        test = summing(assigner, "columns")
        test.process_element(("a", 1), 16)
        snapshot = test.snapshot()
    again, whole = summing(assigner, form), summing(assigner, form)
    again.restore(snapshot)
    whole.process_element(("a", 1), 16)
    for each in (again, whole):
        each.process_element(("a", 2), 17)
        each.process_watermark(100)
    assert again.output() == whole.output() != []
