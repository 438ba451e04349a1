"""Windows of event time: when they fire, what is late, when they go away."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.time import Time
from penstock.datastream import DataStream, OutputTag, ProcessWindowFunction
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)

LATE = OutputTag("late")


def add_up(first: tuple[str, int], second: tuple[str, int]) -> tuple[str, int]:
    return first[0], first[1] + second[1]


def sums(assigner: WindowAssigner[Any, Any], lateness: int = 0, trigger: Any = None) -> Any:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda pair: pair[0]).window(assigner).allowed_lateness(lateness)
        if trigger is not None:
            windows = windows.trigger(trigger)
        return windows.side_output_late_data(LATE).reduce(add_up)

    return build


def test_a_tumbling_window_fires_when_the_watermark_reaches_its_last_millisecond(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of(Time.milliseconds(10))))
    run.add((("a", 1), 0), (("a", 2), 9), (("a", 4), 10), (("b", 8), 3))
    assert run.watermark(8) == []
    assert run.watermark(9) == [(("a", 3), 9), (("b", 8), 9)]
    assert run.watermark(18) == []
    assert run.watermark(19) == [(("a", 4), 19)]
    assert run.stored() == 0


def test_windows_fire_in_the_order_of_time_and_before_the_watermark_goes_on(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of("10 ms")))
    run.add((("a", 3), 25), (("a", 2), 15), (("a", 1), 5))
    run.harness.process_watermark(100)
    assert run.harness.output() == [(("a", 1), 9), (("a", 2), 19), (("a", 3), 29)]
    assert run.harness.watermark == 100


def test_an_offset_shifts_windows_also_by_a_negative_time(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(-3))))
    run.add((("a", 1), 6), (("a", 2), 7), (("a", 4), -3), (("a", 8), -4))
    assert run.end() == [(("a", 8), -4), (("a", 5), 6), (("a", 2), 16)]


def test_a_late_record_goes_to_the_side_output_with_its_own_timestamp(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of(Time.seconds(2))))
    run.add((("k", 1), 1000)).watermark(1985)
    assert run.add((("k", 1), 1980)).watermark(1999) == [(("k", 2), 1999)]
    run.add((("k", 1), 1998), (("k", 1), 2001))
    assert run.late(LATE) == [(("k", 1), 1998)]
    assert run.dropped == 0
    assert run.watermark(2999) == []
    assert run.watermark(3999) == [(("k", 1), 3999)]


def test_late_records_that_nobody_reads_are_counted(scenario: Any) -> None:
    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of("10 ms")).reduce(add_up)

    run = scenario(build)
    run.watermark(9)
    run.add((("a", 1), 3), (("a", 2), 9), (("a", 3), 10))
    assert run.dropped == 2
    assert run.end() == [(("a", 3), 19)]


def test_within_the_allowed_lateness_every_late_record_fires_again(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of("10 ms"), lateness=5))
    assert run.add((("a", 1), 1)).watermark(9) == [(("a", 1), 9)]
    assert run.add((("a", 2), 2)).results() == [(("a", 3), 9)]
    run.watermark(13)
    assert run.add((("a", 4), 3)).results() == [(("a", 7), 9)]
    assert run.watermark(14) == []
    assert run.stored() == 0
    assert run.add((("a", 8), 4)).results() == []
    assert run.late(LATE) == [(("a", 8), 4)]


def test_purging_forgets_what_has_fired_and_lateness_keeps_the_window(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of("2 s"), 500, PurgingTrigger.of(EventTimeTrigger.create())))
    run.add((("k", 1), 500)).watermark(1500)
    assert run.add((("k", 1), 1300)).watermark(2300) == [(("k", 2), 1999)]
    assert run.add((("k", 1), 1997)).results() == [(("k", 1), 1999)]
    run.watermark(6000)
    assert run.add((("k", 1), 1998)).watermark(7000) == []
    assert run.late(LATE) == [(("k", 1), 1998)]


def test_a_first_record_may_come_to_a_window_that_is_over_but_not_gone(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of("10 ms"), lateness=100))
    run.watermark(50)
    assert run.add((("a", 1), 3)).results() == [(("a", 1), 9)]
    assert run.watermark(108) == []
    assert run.stored() > 0
    assert run.watermark(109) == []
    assert run.stored() == 0


def test_a_sliding_record_is_dropped_only_by_the_windows_that_are_gone(scenario: Any) -> None:
    run = scenario(sums(SlidingEventTimeWindows.of(Time.seconds(3), Time.seconds(1))))
    assert run.add((("k2", 1), 1000)).watermark(1999) == [(("k2", 1), 1999)]
    assert run.add((("k2", 1), 2000)).watermark(3000) == [(("k2", 2), 2999)]
    run.add((("k1", 1), 3001), (("k2", 1), 2400), (("k2", 1), 2400), (("k1", 1), 3001), (("k2", 1), 3900))
    assert run.watermark(6000) == [
        (("k1", 2), 3999),
        (("k2", 5), 3999),
        (("k1", 2), 4999),
        (("k2", 4), 4999),
        (("k1", 2), 5999),
        (("k2", 1), 5999),
    ]
    run.add((("k1", 1), 3001))
    assert run.late(LATE) == [(("k1", 1), 3001)]


def test_records_between_sliding_windows_are_in_none(scenario: Any) -> None:
    run = scenario(sums(SlidingEventTimeWindows.of("2 ms", "5 ms")))
    run.add((("a", 1), 1), (("a", 2), 2), (("a", 4), 4), (("a", 8), 5))
    assert run.watermark(6) == [(("a", 1), 1), (("a", 8), 6)]
    run.add((("a", 16), 3))
    assert run.late(LATE) == [(("a", 16), 3)]


def test_cumulative_windows_grow_from_the_same_start(scenario: Any) -> None:
    run = scenario(sums(CumulativeEventTimeWindows.of("30 ms", "10 ms")))
    run.add((("a", 1), 5), (("a", 2), 12), (("a", 4), 29), (("a", 8), 30))
    assert run.watermark(9) == [(("a", 1), 9)]
    assert run.watermark(39) == [(("a", 3), 19), (("a", 7), 29), (("a", 8), 39)]
    assert run.end() == [(("a", 8), 49), (("a", 8), 59)]


def test_a_lateness_beyond_the_end_of_time_keeps_windows_for_ever(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of("10 ms"), lateness=(1 << 63) - 1))
    assert run.add((("a", 1), 5)).watermark(1 << 62) == [(("a", 1), 9)]
    assert run.add((("a", 2), 5)).results() == [(("a", 3), 9)]


class Count(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, context.current_watermark(), list(elements)


def test_a_process_window_function_gets_all_records_in_their_order(scenario: Any) -> None:
    run = scenario(lambda s: s.key_by(lambda v: v % 2).window(TumblingEventTimeWindows.of("10 ms")).process(Count()))
    run.add((1, 3), (4, 2), (3, 1), (5, 11))
    assert run.watermark(10) == [((0, 0, 10, [4]), 9), ((1, 0, 10, [1, 3]), 9)]
    assert run.end() == [((1, 10, (1 << 63) - 1, [5]), 19)]


def test_a_record_without_a_timestamp_is_an_error_that_names_the_operator(scenario: Any) -> None:
    for assigner in (TumblingEventTimeWindows.of("10 ms"), SlidingEventTimeWindows.of("10 ms", "5 ms")):
        run = scenario(sums(assigner))
        with pytest.raises(UserFunctionError, match="without a timestamp") as caught:
            run.add((("a", 1), None))
        assert caught.value.report.operator == type(assigner).__name__
        assert "assign_timestamps_and_watermarks" in str(caught.value)
        assert "('a', 1)" in str(caught.value)
