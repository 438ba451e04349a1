"""Joins and co-groups in windows, step by step, and against windows put together by hand."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import CoGroupFunction, DataStream, FlatJoinFunction, JoinFunction
from penstock.datastream.functions import TaggedUnion
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.testing import harness
from unit.runtime.join_steps import LATE_LEFT, LATE_RIGHT, MAX, STEPS, Step, driven, in_order, key, stored


class Numbers(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        yield first, second


def co_grouped(first: DataStream, second: DataStream, assigner: Any, lateness: int = 0) -> DataStream:
    windows = first.co_group(second).where(key).equal_to(key).window(assigner).allowed_lateness(lateness)
    return windows.side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT).apply(Numbers())


def by_the_book(steps: list[Step], windows_of: Any, lateness: int) -> tuple[Any, Any, Any]:
    """Windows that do not merge: every firing is what has come in time."""
    contents: dict[tuple[str, int, int], tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    late: dict[str, list[Any]] = {"left": [], "right": []}
    watermark, results = -(1 << 63), []

    def fire(place: tuple[str, int, int]) -> None:
        first, second = contents[place]
        results.append(((list(first), list(second)), place[2] - 1))

    for number, (kind, record_key, time) in enumerate([*steps, ("watermark", "", MAX)]):
        if kind in late:
            places = [(record_key, *each) for each in windows_of(time) if each[1] - 1 + lateness > watermark]
            for place in places:
                contents[place][kind == "right"].append((record_key, number))
                if place[2] - 1 <= watermark:
                    fire(place)
            if not places:
                late[kind].append(((record_key, number), time))
        elif kind == "watermark" and time > watermark:
            for place in [each for each in contents if watermark < each[2] - 1 <= time]:
                fire(place)
            watermark = time
    return in_order(results), late["left"], late["right"]


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(10), SlidingEventTimeWindows.of(10, 4)], ids=["tumbling", "sliding"]
)
@settings(max_examples=50)
@given(steps=STEPS, lateness=st.sampled_from([0, 6]))
def test_windows_hold_the_records_of_both_streams(assigner: Any, steps: list[Step], lateness: int) -> None:
    def windows_of(time: int) -> list[tuple[int, int]]:
        return [(window.start, window.end) for window in assigner.assign_windows(None, time, None)]

    test = driven(lambda first, second: co_grouped(first, second, assigner, lateness), steps)
    results = in_order(test.output()), test.side_output(LATE_LEFT), test.side_output(LATE_RIGHT)
    assert results == by_the_book(steps, windows_of, lateness)
    assert stored(test) == []


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [(1, 2), (1, 3)]),
        ("left", [(1, 2), (1, 3), (4, None)]),
        ("right", [(1, 2), (1, 3), (None, 5)]),
        ("full", [(1, 2), (1, 3), (4, None), (None, 5)]),
    ],
)
@pytest.mark.parametrize("restored", [False, True])
def test_an_outer_join_keeps_records_without_a_partner(how: str, expected: list[Any], restored: bool) -> None:
    class Pair(JoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            return first and first[1], second and second[1]

    def build(first: DataStream, second: DataStream) -> DataStream:
        return first.join(second, how).where(key).equal_to(key).window(TumblingEventTimeWindows.of(10)).apply(Pair())

    test = harness(build)
    steps = [(0, "a", 1, 5), (1, "a", 2, 0), (1, "a", 3, 9), (0, "a", 4, 12), (1, "b", 5, 13)]
    for side, record_key, number, time in steps:
        (test.process_element2 if side else test.process_element1)((record_key, number), time)
        if restored:
            test.restore(test.snapshot())
    test.process_watermark(19)
    assert in_order(test.output()) == in_order([(pair, 9 if pair[0] == 1 else 19) for pair in expected])


def test_a_flat_join_makes_any_number_of_results() -> None:
    class Cheaper(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            if second[1] < first[1]:
                yield first[1] - second[1]

    def build(first: DataStream, second: DataStream) -> DataStream:
        return first.join(second).where(key).equal_to(key).window(TumblingEventTimeWindows.of(10)).apply(Cheaper())

    test = harness(build)
    test.process_element1(("a", 5), 1)
    test.process_element2(("a", 3), 2)
    test.process_element2(("a", 7), 3)
    test.close()
    assert test.output() == [(2, 9)]


@pytest.mark.parametrize("restored", [False, True])
def test_a_record_of_either_stream_holds_a_session_open(restored: bool) -> None:
    test = harness(lambda first, second: co_grouped(first, second, EventTimeSessionWindows.with_gap(5)))
    for step in [
        lambda: test.process_element1(("a", 1), 0),
        lambda: test.process_element1(("a", 2), 8),
        lambda: test.process_element2(("a", 3), 4),
        lambda: test.process_element2(("a", 4), 20),
        lambda: test.process_watermark(12),
    ]:
        step()
        if restored:
            test.restore(test.snapshot())
    assert test.output() == [(([("a", 1), ("a", 2)], [("a", 3)]), 12)]


def test_a_gap_extractor_sees_which_stream_a_record_is_of() -> None:
    class Gap(SessionWindowTimeGapExtractor):
        def extract(self, element: TaggedUnion) -> int:
            return 10 if element.is_one() else element.get_two()[1]

    test = harness(lambda first, second: co_grouped(first, second, EventTimeSessionWindows.with_dynamic_gap(Gap())))
    test.process_element1(("a", 1), 0)
    test.process_element2(("a", 3), 9)
    test.process_watermark(11)
    assert test.output() == [(([("a", 1)], [("a", 3)]), 11)]


def test_triggers_and_evictors_see_the_records_of_both_streams() -> None:
    def build(first: DataStream, second: DataStream) -> DataStream:
        windows = first.co_group(second).where(key).equal_to(key).window(GlobalWindows.create())
        return windows.trigger(PurgingTrigger.of(CountTrigger.of(4))).evictor(CountEvictor.of(3)).apply(Numbers())

    test = harness(build)
    for number in (1, 3):
        test.process_element1(("a", number), None)
        test.restore(test.snapshot())
        test.process_element2(("a", number + 1), None)
    assert [value for value, _ in test.output()] == [([("a", 3)], [("a", 2), ("a", 4)])]


def test_windows_of_processing_time() -> None:
    test = harness(lambda first, second: co_grouped(first, second, TumblingProcessingTimeWindows.of(10)))
    test.set_processing_time(5)
    test.process_element1(("a", 1))
    test.process_element2(("a", 2))
    test.set_processing_time(10)
    assert test.output() == [(([("a", 1)], [("a", 2)]), 9)]


def test_late_records_that_nobody_reads_are_counted() -> None:
    def build(first: DataStream, second: DataStream) -> DataStream:
        return first.join(second).where(key).equal_to(key).window(TumblingEventTimeWindows.of(10)).apply(lambda a, b: a)

    test = harness(build)
    test.process_watermark(20)
    test.process_element1(("a", 1), 5)
    test.process_element2(("a", 2), 5)
    assert test.counter("num_late_records_dropped") == 2


class Firings(CoGroupFunction):
    """Counts the windows of a key in its state, and is opened and closed."""

    def open(self, runtime_context: Any) -> None:
        self.firings = runtime_context.get_state(ValueStateDescriptor("firings"))

    def co_group(self, first: Any, second: Any) -> Any:
        self.firings.update((self.firings.value() or 0) + 1)
        return [(len(first), len(second), self.firings.value())]


def test_a_function_may_use_state_of_the_key() -> None:
    def build(first: DataStream, second: DataStream) -> DataStream:
        return first.co_group(second).where(key).equal_to(key).window(TumblingEventTimeWindows.of(10)).apply(Firings())

    test = harness(build)
    test.process_element1(("a", 1), 5)
    test.process_watermark(10)
    test.restore(test.snapshot())
    test.process_element2(("a", 1), 15)
    test.process_watermark(20)
    assert test.output() == [((1, 0, 1), 9), ((0, 1, 2), 19)]
