"""Whatever the order of records, watermarks and restarts: the short ways give what the long ones give."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import DataStream, OutputTag, WindowFunction
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import harness

LATE = OutputTag("late")
MAX = (1 << 63) - 1

RECORD = st.tuples(st.just("record"), st.sampled_from("ab"), st.integers(0, 60))
WATERMARK = st.tuples(st.just("watermark"), st.just(""), st.integers(0, 70))
RESTART = st.tuples(st.just("restart"), st.just(""), st.just(0))
STEPS = st.lists(st.one_of(RECORD, RECORD, RECORD, WATERMARK, RESTART), max_size=40)
Step = tuple[str, str, int]


class SameTrigger(EventTimeTrigger):
    """A trigger that the operator does not know, and so has to ask."""


class Contents(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, window.start, window.end, sorted(number for _, number in inputs)


def run(steps: list[Step], assigner: Any, trigger: Any, lateness: int) -> tuple[Any, Any, int]:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda pair: pair[0]).window(assigner).trigger(trigger).allowed_lateness(lateness)
        return windows.side_output_late_data(LATE).apply(Contents())

    test = harness(build)
    for number, (kind, key, time) in enumerate(steps):
        match kind:
            case "record":
                test.process_element((key, number), time)
            case "watermark":
                test.process_watermark(time)
            case _:
                test.restore(test.snapshot())
    test.close()
    results = sorted(test.output(), key=repr)
    return results, test.side_output(LATE), sum(len(each) for each in test.snapshot().entries.values())


def expected(steps: list[Step], windows_of: Any, lateness: int) -> tuple[Any, Any]:
    """Windows that do not merge, by the book: every firing is computed from all records that came in time."""
    contents: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    watermark, results, late = -1, [], []

    def fire(place: tuple[str, int, int]) -> None:
        results.append(((*place, sorted(contents[place])), place[2] - 1))

    for number, (kind, key, time) in enumerate([*steps, ("watermark", "", MAX)]):
        if kind == "record":
            places = [(key, *window) for window in windows_of(time) if window[1] - 1 + lateness > watermark]
            for place in places:
                contents[place].append(number)
                if place[2] - 1 <= watermark:
                    fire(place)
            if not places:
                late.append(((key, number), time))
        elif kind == "watermark" and time > watermark:
            for place in [each for each in contents if watermark < each[2] - 1 <= time]:
                fire(place)
            watermark = time
    return sorted(results, key=repr), late


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(10),
        TumblingEventTimeWindows.of(7, 3),
        SlidingEventTimeWindows.of(10, 4),
        CumulativeEventTimeWindows.of(12, 4),
    ],
    ids=repr,
)
@pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameTrigger()], ids=["known", "asked"])
@settings(max_examples=40, deadline=None)
@given(steps=STEPS, lateness=st.sampled_from([0, 5, 100]))
def test_windows_fire_by_the_book(assigner: Any, trigger: Any, steps: list[Step], lateness: int) -> None:
    def windows_of(time: int) -> list[tuple[int, int]]:
        return [(window.start, window.end) for window in assigner.assign_windows(None, time, None)]

    results, late, _ = run(steps, assigner, trigger, lateness)
    assert (results, late) == expected(steps, windows_of, lateness)


def expected_sessions(steps: list[Step], gap: int, lateness: int) -> tuple[Any, Any]:
    """Sessions as lists of (start, end, records), one list per key."""
    open_sessions: dict[str, list[tuple[int, int, list[int]]]] = defaultdict(list)
    watermark, results, late = -1, [], []
    for number, (kind, key, time) in enumerate([*steps, ("watermark", "", MAX)]):
        if kind == "record":
            touched = [s for s in open_sessions[key] if s[0] <= time + gap and s[1] >= time]
            start = min([time, *(s[0] for s in touched)])
            end = max([time + gap, *(s[1] for s in touched)])
            if end - 1 + lateness <= watermark:
                late.append(((key, number), time))
                continue
            merged = (start, end, sorted([number, *(n for s in touched for n in s[2])]))
            open_sessions[key] = [s for s in open_sessions[key] if s not in touched] + [merged]
            if end - 1 <= watermark:
                results.append(((key, *merged), end - 1))
        elif kind == "watermark" and time > watermark:
            for each, sessions in open_sessions.items():
                results += [((each, *s), s[1] - 1) for s in sessions if watermark < s[1] - 1 <= time]
                open_sessions[each] = [s for s in sessions if s[1] - 1 + lateness > time]
            watermark = time
    return sorted(results, key=repr), late


@pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameTrigger()], ids=["known", "asked"])
@settings(max_examples=60, deadline=None)
@given(steps=STEPS, gap=st.sampled_from([1, 5, 12]), lateness=st.sampled_from([0, 5, 100]))
def test_sessions_merge_by_the_book(trigger: Any, steps: list[Step], gap: int, lateness: int) -> None:
    results, late, _ = run(steps, EventTimeSessionWindows.with_gap(gap), trigger, lateness)
    assert (results, late) == expected_sessions(steps, gap, lateness)
