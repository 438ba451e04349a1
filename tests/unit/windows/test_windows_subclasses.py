"""A subclass of our own assigner, trigger or generator is asked, whatever is known of its base."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

from penstock.common.typeinfo import Types
from penstock.datastream import DataStream
from penstock.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
Windows = Callable[[WindowAssigner[Any, Any]], Callable[[DataStream], DataStream]]


def record_by_record(assigner: WindowAssigner[Any, Any]) -> Callable[[DataStream], DataStream]:
    return lambda s: s.key_by(lambda v: v[0]).window(assigner).reduce(lambda a, b: (a[0], a[1] + b[1]))


def in_columns(assigner: WindowAssigner[Any, Any]) -> Callable[[DataStream], DataStream]:
    return lambda s: s.map(lambda v: v, PAIR).key_by(0).window(assigner).sum(1)


class ShiftedForB(TumblingEventTimeWindows):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        if element[0] == "b":
            return [TimeWindow(5, 15)]
        return super().assign_windows(element, timestamp, context)


class FirstOnly(SlidingEventTimeWindows):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return list(super().assign_windows(element, timestamp, context))[:1]


@pytest.mark.parametrize("windows", [record_by_record, in_columns])
def test_windows_are_those_that_a_subclass_assigns(scenario: Any, windows: Windows) -> None:
    run = scenario(windows(ShiftedForB(10))).add((("a", 1), 7), (("b", 2), 7), (("b", 3), 12))
    assert run.watermark(9) == [(("a", 1), 9)]
    assert run.watermark(14) == [(("b", 5), 14)]


@pytest.mark.parametrize("windows", [record_by_record, in_columns])
def test_sliding_windows_are_those_that_a_subclass_assigns(scenario: Any, windows: Windows) -> None:
    run = scenario(windows(FirstOnly(10, 5))).add((("a", 1), 7))
    assert run.end() == [(("a", 1), 14)]


class InTwoWindows(TumblingEventTimeWindows):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(0, 10), TimeWindow(0, 20)]


def test_a_record_that_a_subclass_puts_into_two_windows_is_not_shared_by_them(scenario: Any) -> None:
    def add_in_place(first: list[Any], second: list[Any]) -> list[Any]:
        first[1] += second[1]
        return first

    run = scenario(lambda s: s.key_by(lambda v: v[0]).window(InTwoWindows(10)).reduce(add_in_place))
    run.add((["a", 1], 1), (["a", 2], 2))
    assert run.end() == [(["a", 3], 9), (["a", 3], 19)]


class NeverMerging(EventTimeSessionWindows):
    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Nothing merges."""


class Asked(EventTimeTrigger):
    """Not known to operators."""


@pytest.mark.parametrize("trigger", [EventTimeTrigger(), Asked()])
def test_sessions_merge_as_a_subclass_says(scenario: Any, trigger: EventTimeTrigger) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda v: v[0]).window(NeverMerging(10)).trigger(trigger)
        return windows.reduce(lambda a, b: (a[0], a[1] + b[1]))

    assert scenario(build).add((("a", 1), 0), (("a", 2), 5)).end() == [(("a", 1), 9), (("a", 2), 14)]


class AtOnce(PurgingTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE


def test_a_subclass_of_the_purging_trigger_says_when_windows_fire(scenario: Any) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of(10))
        return windows.trigger(AtOnce(EventTimeTrigger())).reduce(lambda a, b: (a[0], a[1] + b[1]))

    assert scenario(build).add((("a", 1), 1), (("a", 2), 2)).results() == [(("a", 1), 9), (("a", 2), 9)]
