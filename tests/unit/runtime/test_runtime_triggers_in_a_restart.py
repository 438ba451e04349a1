"""Open windows when the program that goes on with them, record by record, has another trigger or another lateness."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import DataStream, ProcessWindowFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    Trigger,
    TumblingProcessingTimeWindows,
)
from penstock.state.catalogue import prefix_of
from penstock.testing import Harness, harness
from penstock.windows import WindowAssigner
from unit.runtime.window_restarts import PAIR, SLIDING, TEN, left_over, logged_sum, windows_of_pairs

GAP = EventTimeSessionWindows.with_gap(5)
EVERY_FOUR = ContinuousEventTimeTrigger.of(4)
FIVE = CountTrigger.of(5)


def summing(assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any] | None, lateness: int) -> Harness:
    def results(windows: Any) -> DataStream:
        windows = windows.allowed_lateness(lateness)
        windows = windows if trigger is None else windows.trigger(trigger)
        return windows.reduce(logged_sum).uid("windows")

    return windows_of_pairs(assigner, results)


@pytest.mark.parametrize(
    ("trigger", "before", "after"),
    [
        (EVERY_FOUR, 0, 0),
        (EVERY_FOUR, 100, 0),
        (EVERY_FOUR, 0, 100),
        (PurgingTrigger.of(EVERY_FOUR), 0, 0),
        (FIVE, 0, 0),
        (FIVE, 100, 0),
        (FIVE, 100, 100),
        (FIVE, 100, 20),
    ],
    ids=str,
)
@pytest.mark.parametrize("assigner", [TEN, SLIDING, GAP], ids=str)
def test_a_window_whose_trigger_is_taken_away_fires_at_its_end_with_all_that_it_has(
    assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any], before: int, after: int
) -> None:
    test = summing(assigner, trigger, before)
    test.process_element(("a", 1), 6)
    again = summing(assigner, None, after)
    again.restore(test.snapshot())
    again.process_element(("a", 2), 7)
    again.process_watermark(8)
    assert again.output() == []
    again.process_watermark(1000)
    assert [result for result, _ in again.output()] == [("a", 3)] * (2 if assigner is SLIDING else 1)


def test_a_window_of_the_clock_whose_trigger_is_taken_away_fires_at_its_end() -> None:
    assigner = TumblingProcessingTimeWindows.of(10)
    test = summing(assigner, ContinuousProcessingTimeTrigger.of(4), 0)
    test.process_element(("a", 1))
    again = summing(assigner, None, 0)
    again.restore(test.snapshot())
    again.set_processing_time(6)
    again.process_element(("a", 2))
    assert again.output() == []
    again.set_processing_time(10)
    assert [result for result, _ in again.output()] == [("a", 3)]


@pytest.mark.parametrize(("before", "after"), [(0, 20), (50, 20), (20, 50), (50, 0)])
@pytest.mark.parametrize("trigger", [None, EVERY_FOUR], ids=str)
@pytest.mark.parametrize("assigner", [TEN, SLIDING, GAP], ids=str)
def test_a_window_goes_when_the_new_lateness_is_over(
    assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any] | None, before: int, after: int
) -> None:
    test = summing(assigner, trigger, before)
    test.process_element(("a", 1), 6)
    test.process_element(("a", 10), 46)
    test.process_watermark(40)
    test.output()
    again = summing(assigner, trigger, after)
    again.restore(test.snapshot())
    again.process_watermark(1000)
    assert {result for result, _ in again.output()} == {("a", 10)}
    assert left_over(again) == []


def test_a_record_does_not_bring_back_a_session_that_is_over_in_the_new_program() -> None:
    test = summing(GAP, None, 100)
    test.process_element(("a", 1), 3)
    test.process_watermark(8)
    assert test.output() == [(("a", 1), 7)]
    again = summing(EventTimeSessionWindows.with_gap(10), None, 0)
    again.restore(test.snapshot())
    again.process_element(("a", 2), 7)
    again.process_watermark(1000)
    assert again.output() == [(("a", 2), 16)]


@pytest.mark.parametrize("assigner", [TEN, GAP], ids=str)
def test_windows_that_were_purged_go_when_the_program_goes_on_in_columns(assigner: WindowAssigner[Any, Any]) -> None:
    test = summing(assigner, PurgingTrigger.of(EventTimeTrigger()), 100)
    test.process_element(("a", 1), 6)
    test.process_element(("a", 2), 46)
    test.process_watermark(20)
    assert [result for result, _ in test.output()] == [("a", 1)]
    again = harness(lambda s: s.key_by("f0").window(assigner).sum(1).uid("windows"), PAIR)
    again.restore(test.snapshot())
    again.process_watermark(1000)
    assert {result for result, _ in again.output()} == {("a", 2)}
    assert left_over(again) == []


class Counted(ProcessWindowFunction[Any, Any, Any, Any]):
    """Counts for each key how often windows have fired, until one of them goes away."""

    def process(self, key: Any, context: Any, elements: Any) -> list[Any]:
        self._count(context).update(1)
        return [(key, sum(value for _, value in elements))]

    def clear(self, context: Any) -> None:
        self._count(context).clear()

    def _count(self, context: Any) -> Any:
        return context.global_state().get_state(ValueStateDescriptor("fired", Types.LONG()))


@pytest.mark.parametrize(
    ("before", "after", "trigger"),
    [
        (0, 0, PurgingTrigger.of(EVERY_FOUR)),
        (0, 50, PurgingTrigger.of(EVERY_FOUR)),
        (100, 0, None),
    ],
    ids=str,
)
@pytest.mark.parametrize("assigner", [TEN, SLIDING, GAP], ids=str)
def test_a_function_hears_of_windows_that_go_away_also_where_they_were_purged_or_are_late_now(
    assigner: WindowAssigner[Any, Any], before: int, after: int, trigger: Trigger[Any, Any] | None
) -> None:
    def counting(lateness: int, trigger: Trigger[Any, Any] | None) -> Harness:
        def results(windows: Any) -> DataStream:
            windows = windows.allowed_lateness(lateness)
            windows = windows if trigger is None else windows.trigger(trigger)
            return windows.process(Counted(), PAIR).uid("windows")

        return windows_of_pairs(assigner, results)

    test = counting(before, trigger)
    test.process_element(("a", 1), 3)
    test.process_watermark(6 if trigger is not None else 20)
    assert ("a", 1) in [result for result, _ in test.output()]
    again = counting(after, None)
    again.restore(test.snapshot())
    again.process_watermark(1000)
    again.output()
    assert [key for key in left_over(again) if key.startswith(prefix_of("windows", "fired"))] == []
