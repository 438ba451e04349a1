"""Session windows: merging, lateness, state."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.time import Time
from penstock.datastream import AggregateFunction, DataStream, OutputTag, ProcessWindowFunction, WindowFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    TimeWindowSerializer,
)

LATE = OutputTag("late")
SECONDS_3 = EventTimeSessionWindows.with_gap(Time.seconds(3))


class Span(WindowFunction):
    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, sum(number for _, number in inputs), window.start, window.end


class Total(AggregateFunction):
    def create_accumulator(self) -> Any:
        return ["", 0]

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator[0], accumulator[1] = value[0], accumulator[1] + value[1]
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return tuple(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [acc_a[0], acc_a[1] + acc_b[1]]


def add_up(first: tuple[str, int], second: tuple[str, int]) -> tuple[str, int]:
    return first[0], first[1] + second[1]


def spans(how: str, assigner: Any = SECONDS_3, lateness: int = 0, trigger: Any = None) -> Any:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda pair: pair[0]).window(assigner).allowed_lateness(lateness)
        windows = windows.side_output_late_data(LATE)
        if trigger is not None:
            windows = windows.trigger(trigger)
        match how:
            case "apply":
                return windows.apply(Span())
            case "reduce":
                return windows.reduce(add_up, Span())
            case _:
                return windows.aggregate(Total(), Span())

    return build


@pytest.mark.parametrize("how", ["apply", "reduce", "aggregate"])
def test_sessions_end_after_a_gap_and_merge_when_it_is_filled(scenario: Any, how: str) -> None:
    run = scenario(spans(how))
    run.add((("k2", 1), 0), (("k2", 2), 1000), (("k2", 3), 2500), (("k1", 1), 10), (("k1", 2), 1000))
    run.add((("k1", 3), 2500), (("k2", 4), 5501), (("k2", 5), 6000), (("k2", 5), 6000), (("k2", 6), 6050))
    assert run.watermark(12000) == [
        (("k1", 6, 10, 5500), 5499),
        (("k2", 6, 0, 5500), 5499),
        (("k2", 20, 5501, 9050), 9049),
    ]
    run.add((("k2", 10), 15000), (("k2", 20), 15000))
    assert run.watermark(17999) == [(("k2", 30, 15000, 18000), 17999)]
    assert run.stored() == 0


@pytest.mark.parametrize("how", ["apply", "reduce", "aggregate"])
def test_a_record_joins_two_sessions_and_their_contents_and_leaves_nothing_behind(scenario: Any, how: str) -> None:
    run = scenario(spans(how, EventTimeSessionWindows.with_gap("10 ms")))
    run.add((("a", 1), 0), (("a", 2), 30), (("a", 4), 15), (("a", 8), 7), (("a", 16), 24))
    assert run.watermark(38) == []
    assert run.watermark(39) == [(("a", 31, 0, 40), 39)]
    assert run.stored() == 0


def test_sessions_that_only_touch_are_one(scenario: Any) -> None:
    run = scenario(spans("reduce", EventTimeSessionWindows.with_gap("10 ms")))
    run.add((("a", 1), 0), (("a", 2), 10), (("b", 1), 0), (("b", 2), 11))
    assert run.end() == [(("b", 1, 0, 10), 9), (("a", 3, 0, 20), 19), (("b", 2, 11, 21), 20)]


def start_of_late_sessions(run: Any) -> Any:
    """The beginning of Flink's scenarios of late sessions."""
    run.add((("k", 1), 1000)).watermark(1999)
    run.add((("k", 1), 2000)).watermark(4998)
    run.add((("k", 1), 4500), (("k", 1), 8500)).watermark(7400)
    assert run.add((("k", 1), 7000)).watermark(11501) == [(("k", 5, 1000, 11500), 11499)]
    assert run.add((("k", 1), 11600)).watermark(14600) == [(("k", 1, 11600, 14600), 14599)]
    return run


@pytest.mark.parametrize("trigger", [EventTimeTrigger(), PurgingTrigger.of(EventTimeTrigger())])
def test_without_lateness_a_late_record_cannot_open_a_session(scenario: Any, trigger: Any) -> None:
    run = start_of_late_sessions(scenario(spans("reduce", trigger=trigger)))
    run.add((("k", 1), 10000), (("k", 1), 10100), (("k", 1), 14500))
    assert run.late(LATE) == [(("k", 1), 10000), (("k", 1), 10100)]
    assert run.watermark(20000) == [(("k", 1, 14500, 17500), 17499)]
    assert run.watermark(100000) == []


def test_a_late_record_merges_into_a_session_that_is_not_gone_and_fires_it_again(scenario: Any) -> None:
    run = start_of_late_sessions(scenario(spans("reduce", lateness=10)))
    assert run.add((("k", 1), 10000)).results() == [(("k", 2, 10000, 14600), 14599)]
    assert run.add((("k", 1), 14500)).watermark(20000) == [(("k", 3, 10000, 17500), 17499)]
    assert run.watermark(100000) == []
    assert run.late(LATE) == []
    assert run.stored() == 0


def test_a_purged_session_starts_from_nothing_when_it_grows(scenario: Any) -> None:
    run = start_of_late_sessions(scenario(spans("reduce", lateness=10, trigger=PurgingTrigger.of(EventTimeTrigger()))))
    assert run.add((("k", 1), 10000)).results() == [(("k", 1, 10000, 14600), 14599)]
    assert run.add((("k", 1), 14500)).watermark(20000) == [(("k", 1, 10000, 17500), 17499)]
    assert run.watermark(100000) == []


def test_a_late_record_may_join_two_sessions_that_have_fired(scenario: Any) -> None:
    run = start_of_late_sessions(scenario(spans("reduce", lateness=10000)))
    assert run.add((("k", 1), 10000)).results() == [(("k", 7, 1000, 14600), 14599)]
    assert run.add((("k", 1), 14500)).watermark(20000) == [(("k", 8, 1000, 17500), 17499)]
    assert run.watermark(100000) == []
    assert run.stored() == 0


def test_a_count_trigger_adds_its_counts_when_sessions_merge(scenario: Any) -> None:
    run = scenario(spans("apply", trigger=PurgingTrigger.of(CountTrigger.of(4))))
    run.add((("k2", 1), 0), (("k2", 2), 1000), (("k2", 3), 2500), (("k2", 4), 3500), (("k1", 1), 10), (("k1", 2), 1000))
    assert run.results() == [(("k2", 10, 0, 6500), 6499)]
    run.add((("k1", 3), 2500), (("k1", 1), 6000), (("k1", 2), 6500), (("k1", 3), 7000))
    assert run.results() == []
    assert run.add((("k1", 10), 4500)).results() == [(("k1", 22, 10, 10000), 9999)]


def test_a_continuous_trigger_keeps_its_next_time_when_sessions_merge(scenario: Any) -> None:
    run = scenario(spans("apply", trigger=ContinuousEventTimeTrigger.of(Time.seconds(2))))
    run.add((("k1", 1), 1500), (("k2", 1), 0), (("k2", 3), 2500), (("k2", 2), 1000))
    assert run.watermark(2500) == [(("k1", 1, 1500, 4500), 4499), (("k2", 6, 0, 5500), 5499)]
    assert run.add((("k2", 5), 4000)).watermark(3000) == []
    run.add((("k1", 2), 4000), (("k2", 4), 3500))
    assert run.watermark(4000) == [(("k1", 3, 1500, 7000), 6999), (("k2", 15, 0, 7000), 6999)]


class GapOfRecord(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return {"k1": 3000}.get(
            element[0], {1: 3000, 2: 2000, 10: 1000}.get(element[1], 2000 if element[1] > 4 else 3000)
        )


@pytest.mark.parametrize(
    "assigner",
    [
        EventTimeSessionWindows.with_dynamic_gap(GapOfRecord()),
        DynamicEventTimeSessionWindows.with_dynamic_gap(GapOfRecord().extract),
    ],
)
def test_the_gap_may_depend_on_the_record(scenario: Any, assigner: Any) -> None:
    run = scenario(spans("apply", assigner))
    run.add((("k1", 3), 10), (("k2", 4), 5000), (("k2", 5), 6000))
    assert run.watermark(8999) == [(("k1", 3, 10, 3010), 3009), (("k2", 9, 5000, 8000), 7999)]
    run.add((("k2", 1), 9000), (("k2", 2), 10000), (("k2", 10), 10500))
    assert run.watermark(12999) == [(("k2", 13, 9000, 12000), 11999)]
    run.add((("k2", 10), 13000), (("k2", 10), 13500), (("k2", 1), 14000))
    assert run.watermark(16999) == [(("k2", 21, 13000, 17000), 16999)]


def test_a_window_that_is_exactly_a_merged_session_keeps_its_contents(scenario: Any) -> None:
    gaps = {1: 10, 2: 10, 4: 20}
    run = scenario(spans("reduce", EventTimeSessionWindows.with_dynamic_gap(lambda pair: gaps[pair[1]])))
    run.add((("a", 1), 0), (("a", 2), 10), (("a", 4), 0))
    assert run.end() == [(("a", 7, 0, 20), 19)]


def test_a_gap_that_is_no_time_is_an_error_of_the_record(scenario: Any) -> None:
    run = scenario(spans("reduce", EventTimeSessionWindows.with_dynamic_gap(lambda pair: pair[1])))
    with pytest.raises(UserFunctionError, match=r"session gap of \('a', 0\) is 0"):
        run.add((("a", 0), 5))


def test_sessions_need_timestamps(scenario: Any) -> None:
    with pytest.raises(UserFunctionError, match="without a timestamp"):
        scenario(spans("reduce")).add((("a", 1), None))


class AsksForWindowState(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        context.window_state().get_state(ValueStateDescriptor("seen"))
        yield key


def test_a_session_has_no_state_of_its_own(scenario: Any) -> None:
    run = scenario(lambda s: s.key_by(lambda pair: pair[0]).window(SECONDS_3).process(AsksForWindowState()))
    with pytest.raises(UserFunctionError, match=r"'seen' of a window.*global_state"):
        run.add((("a", 1), 0)).watermark(10000)


def test_sessions_of_processing_time_follow_the_clock(scenario: Any) -> None:
    run = scenario(spans("reduce", ProcessingTimeSessionWindows.with_gap(Time.seconds(3))))
    run.clock(3)
    run.add((("k2", 1), 9))
    run.clock(1000)
    run.add((("k2", 1), 1))
    assert run.clock(3999) == []
    assert run.clock(4000) == [(("k2", 2, 3, 4000), 3999)]
    run.clock(5000)
    run.add((("k2", 1), None), (("k1", 1), None))
    assert run.clock(10000) == [(("k1", 1, 5000, 8000), 7999), (("k2", 1, 5000, 8000), 7999)]
    assert run.stored() == 0


class PointSessions(MergingWindowAssigner):
    """Records with the number 33 belong to one instant, which ends its session: a merge does not reach further."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + (1 if element[1] == 33 else 3000))]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        TimeWindow.merge_windows(windows, callback)

    def get_default_trigger(self, env: Any) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def test_a_program_may_have_its_own_merging_windows(scenario: Any) -> None:
    run = scenario(spans("apply", PointSessions()))
    run.add((("k2", 1), 0), (("k2", 33), 1000), (("k2", 33), 2500), (("k1", 1), 10), (("k1", 2), 1000))
    run.add((("k1", 33), 2500))
    assert run.watermark(12000) == [(("k2", 67, 0, 3000), 2999), (("k1", 36, 10, 4000), 3999)]
    assert run.stored() == 0


@pytest.mark.parametrize("how", ["apply", "reduce", "aggregate"])
def test_a_session_that_has_just_fired_and_goes_on_fires_at_its_new_end(scenario: Any, how: str) -> None:
    run = scenario(spans(how, EventTimeSessionWindows.with_gap(10), lateness=100))
    run.add((("a", 1), 0))
    assert run.watermark(9) == [(("a", 1, 0, 10), 9)]
    run.add((("a", 2), 5))
    assert run.results() == []
    assert run.watermark(14) == [(("a", 3, 0, 15), 14)]
