"""Which windows a time belongs to, and what assigners, triggers and evictors are made with."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.errors import ArgumentError, PlanError
from penstock.common.time import Duration, Time
from penstock.datastream import window as w
from penstock.windows.assigner import AlignedWindowAssigner

TIMES = st.integers(-(10**6), 10**6)
LENGTHS = st.integers(1, 60)
NAN: Any = float("nan")


def windows_of(assigner: Any, time: int) -> list[tuple[int, int]]:
    return [(window.start, window.end) for window in assigner.assign_windows(None, time, None)]


@given(time=TIMES, size=LENGTHS, slide=LENGTHS, offset=st.integers(-59, 59))
def test_sliding_windows_are_all_that_a_time_is_in(time: int, size: int, slide: int, offset: int) -> None:
    offset %= slide
    expected = {(start, start + size) for start in range(time - size + 1, time + 1) if (start - offset) % slide == 0}
    found = windows_of(w.SlidingEventTimeWindows.of(size, slide, offset), time)
    assert set(found) == expected
    assert found == sorted(found, reverse=True)


@given(time=TIMES, size=LENGTHS, offset=st.integers(-59, 59))
def test_tumbling_windows_lie_end_to_end(time: int, size: int, offset: int) -> None:
    offset = offset % size if offset >= 0 else -(-offset % size)
    ((start, end),) = windows_of(w.TumblingEventTimeWindows.of(size, offset), time)
    assert end - start == size
    assert start <= time < end
    assert (start - offset) % size == 0


@given(time=TIMES, step=LENGTHS, steps=st.integers(1, 9), offset=st.integers(0, 59))
def test_cumulative_windows_begin_together(time: int, step: int, steps: int, offset: int) -> None:
    size = step * steps
    found = windows_of(w.CumulativeEventTimeWindows.of(size, step, offset % size), time)
    assert len({start for start, _ in found}) == 1
    start = found[0][0]
    assert (start - offset) % size == 0
    assert [end for _, end in found] == [start + step * n for n in range(1, steps + 1) if start + step * n > time]
    assert start <= time


@given(time=TIMES, size=LENGTHS, slide=LENGTHS, offset=st.integers(0, 59))
def test_windows_are_the_same_within_a_bucket(time: int, size: int, slide: int, offset: int) -> None:
    assigner: AlignedWindowAssigner = w.SlidingEventTimeWindows.of(size, slide, offset % slide)
    shift = assigner.bucket_offset(None)  # type: ignore[arg-type]
    bucket = time - (time - shift) % assigner.bucket_width
    assert windows_of(assigner, time) == windows_of(assigner, bucket)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), max_size=8))
def test_merged_windows_are_the_connected_parts(spans: list[tuple[int, int]]) -> None:
    windows = [w.TimeWindow(start, start + length) for start, length in spans]
    merges: dict[w.TimeWindow, set[w.TimeWindow]] = {}

    class Collect(w.MergingWindowAssigner.MergeCallback):
        def merge(self, to_be_merged: Any, merge_result: Any) -> None:
            merges[merge_result] = set(to_be_merged)

    w.TimeWindow.merge_windows(windows, Collect())
    merged = {part for parts in merges.values() for part in parts}
    for result, parts in merges.items():
        assert len(parts) > 1
        assert (result.start, result.end) == (min(p.start for p in parts), max(p.end for p in parts))
    final = [*merges, *(window for window in set(windows) if window not in merged)]
    assert not any(a is not b and a.intersects(b) for a in final for b in final)


def test_durations_are_written_in_many_ways() -> None:
    same = [Time.seconds(5), Duration.of_seconds(5), timedelta(seconds=5), "5 s", "PT5S", 5000]
    assert {repr(w.TumblingEventTimeWindows.of(size)) for size in same} == {"TumblingEventTimeWindows(5000, 0)"}
    shifts = [Time.seconds(-2), Duration.of_seconds(-2), timedelta(seconds=-2), "-2 s", -2000]
    assert {repr(w.TumblingEventTimeWindows.of("5 s", shift)) for shift in shifts} == {
        "TumblingEventTimeWindows(5000, -2000)"
    }


def test_windows_are_values() -> None:
    assert w.TimeWindow(1, 2) == w.TimeWindow(1, 2) != w.TimeWindow(1, 3)
    assert w.TimeWindow(1, 2) != (1, 2)
    assert sorted([w.TimeWindow(2, 3), w.TimeWindow(1, 5), w.TimeWindow(1, 2)])[0] == w.TimeWindow(1, 2)
    assert len({w.CountWindow(1), w.CountWindow(1), w.CountWindow(2), w.GlobalWindow(), w.GlobalWindow.get()}) == 3
    assert repr(w.TimeWindow(1, 2)) == "TimeWindow(start=1, end=2)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: w.TumblingEventTimeWindows.of(0), "TumblingEventTimeWindows: `size` is 0 .*at least 1 ms"),
        (lambda: w.TumblingEventTimeWindows.of("10 s", "10 s"), "`offset` is 10000 ms; expected less than the size"),
        (lambda: w.TumblingProcessingTimeWindows.of("10 s", "-10 s"), "`offset` is -10000 ms"),
        (lambda: w.SlidingEventTimeWindows.of("10 s", 0), "`slide` is 0"),
        (lambda: w.SlidingEventTimeWindows.of("10 s", "-1 s"), "`slide` is '-1 s'"),
        (lambda: w.SlidingProcessingTimeWindows.of("10 s", "2 s", "2 s"), "less than the slide"),
        (lambda: w.SlidingEventTimeWindows.of("1000 d", 1), "every record would be in 86400000000 windows"),
        (lambda: w.CumulativeEventTimeWindows.of("10 s", "3 s"), "multiple of the step"),
        (lambda: w.EventTimeSessionWindows.with_gap(Time.seconds(-5)), r"`size` is .*-5000 ms"),
        (lambda: w.ProcessingTimeSessionWindows.with_gap(0), "`size` is 0"),
        (lambda: w.CountTumblingWindowAssigner.of(0), "at least 1 record"),
        (lambda: w.CountSlidingWindowAssigner.of(3, -1), "`window_slide` is -1"),
        (lambda: w.CountTrigger.of(0), "`window_size` is 0"),
        (lambda: w.ContinuousEventTimeTrigger.of(0), "`interval` is 0"),
        (lambda: w.ProcessingTimeoutTrigger.of(w.CountTrigger.of(1), 0), "`timeout` is 0"),
        (lambda: w.CountEvictor.of(-1), "from 0"),
        (lambda: w.TimeEvictor.of("-1 s"), "not negative"),
        (lambda: w.TumblingEventTimeWindows(0), "`size` is 0"),
        (lambda: w.SlidingEventTimeWindows(10, -2), "`slide` is -2"),
        (lambda: w.CumulativeEventTimeWindows(10, 0), "`step` is 0"),
        (lambda: w.EventTimeSessionWindows(0), "`session_gap` is 0"),
        (lambda: w.ContinuousEventTimeTrigger(0), "`interval` is 0"),
        (lambda: w.ContinuousProcessingTimeTrigger(-3), "`interval` is -3"),
        (lambda: w.ProcessingTimeoutTrigger(w.CountTrigger.of(1), -5), "`interval` is -5"),
        (lambda: w.TimeEvictor(-1), "not negative"),
    ],
)
def test_what_cannot_be_is_refused_at_the_users_line(make: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        make()
    assert f"at {__file__}" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: w.TumblingEventTimeWindows.of("soon"), "`size` is 'soon'"),
        (lambda: w.TumblingEventTimeWindows.of("1 s", None, "natural"), "a WindowStagger"),
        (lambda: w.EventTimeSessionWindows.with_gap(True), "`size` is True"),
        (lambda: w.EventTimeSessionWindows.with_dynamic_gap(5), "a SessionWindowTimeGapExtractor"),
        (lambda: w.CountTumblingWindowAssigner.of(1.5), "a number of records"),
        (lambda: w.PurgingTrigger.of(w.CountTrigger), "a Trigger"),
        (lambda: w.DeltaTrigger.of(float("nan"), lambda a, b: 0), "a number"),
        (lambda: w.DeltaEvictor.of(1, None), "a function of two records"),
        (lambda: w.TumblingEventTimeWindows.of(Time.seconds(NAN)), "`size` is Time<nan ms>.*a whole number of mill"),
        (lambda: w.TumblingEventTimeWindows.of(Time.milliseconds(2.5)), "`size` is Time<2.5 ms>"),
        (lambda: w.TumblingEventTimeWindows.of(Duration.of_seconds(NAN)), "`size` is Duration<nan s>"),
        (lambda: w.TumblingEventTimeWindows.of(Time("5")), "`size` is Time<5 ms>"),
        (lambda: w.TumblingEventTimeWindows.of(10, Time(NAN)), "`offset` is Time<nan ms>"),
        (lambda: w.TumblingEventTimeWindows(NAN), "`size` is nan"),
        (lambda: w.TumblingProcessingTimeWindows(2.5), "`size` is 2.5"),
        (lambda: w.TumblingEventTimeWindows(10, NAN), "`offset` is nan"),
        (lambda: w.SlidingEventTimeWindows(10, NAN), "`slide` is nan"),
        (lambda: w.CumulativeEventTimeWindows(NAN, 5), "`max_size` is nan"),
        (lambda: w.EventTimeSessionWindows(NAN), "`session_gap` is nan"),
        (lambda: w.ContinuousEventTimeTrigger(2.5), "`interval` is 2.5"),
        (lambda: w.TimeEvictor(NAN), "`window_size` is nan"),
        (lambda: w.ProcessingTimeoutTrigger(w.CountTrigger.of(1), NAN), "`interval` is nan"),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_at_the_users_line(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        make()
    assert f"at {__file__}" in str(caught.value)
