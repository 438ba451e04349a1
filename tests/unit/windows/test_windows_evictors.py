"""Evictors, before and after the window function."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.datastream import AggregateFunction, DataStream, WindowFunction
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    TimeEvictor,
    TimestampedValue,
    TumblingEventTimeWindows,
)

MAX = (1 << 63) - 1


class Contents(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield [number for _, number in inputs]


def windows(stream: DataStream, evictor: Evictor[Any, Any]) -> Any:
    return (
        stream.key_by(lambda pair: pair[0]).window(GlobalWindows.create()).trigger(CountTrigger.of(2)).evictor(evictor)
    )


def fired(run: Any, *records: tuple[int, int | None]) -> list[Any]:
    for number, timestamp in records:
        run.add((("a", number), timestamp))
    return [value for value, _ in run.harness.output()]


def test_a_count_evictor_before_the_function_gives_sliding_counts(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, CountEvictor.of(3)).apply(Contents()))
    assert fired(run, *((number, None) for number in range(1, 7))) == [[1, 2], [2, 3, 4], [4, 5, 6]]


def test_a_count_evictor_after_the_function(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, CountEvictor.of(1, do_evict_after=True)).apply(Contents()))
    assert fired(run, *((number, None) for number in range(1, 7))) == [[1, 2], [2, 3, 4], [4, 5, 6]]


def test_a_time_evictor_keeps_what_is_not_too_old_for_the_newest(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, TimeEvictor.of("10 ms")).apply(Contents()))
    assert fired(run, (1, 0), (2, 10), (3, 5), (4, 12), (5, 22), (6, 1)) == [[2], [2, 3, 4], [5]]


def test_a_time_evictor_after_the_function(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, TimeEvictor.of("10 ms", True)).apply(Contents()))
    assert fired(run, (1, 0), (2, 10), (3, 5), (4, 12)) == [[1, 2], [2, 3, 4]]


def test_a_time_evictor_does_nothing_without_timestamps(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, TimeEvictor.of("10 ms")).apply(Contents()))
    assert fired(run, (1, None), (2, None)) == [[1, 2]]


@pytest.mark.parametrize(("after", "expected"), [(False, [[2], [2, 3, 4]]), (True, [[1, 2], [2, 3, 4]])])
def test_a_delta_evictor_keeps_what_is_near_the_last_record(scenario: Any, after: bool, expected: Any) -> None:
    def distance(old: Any, new: Any) -> float:
        return abs({1: 1, 2: 10, 3: 9, 4: 8}[old[1]] - {1: 1, 2: 10, 3: 9, 4: 8}[new[1]])

    run = scenario(lambda s: windows(s, DeltaEvictor.of(5, distance, after)).apply(Contents()))
    assert fired(run, (1, None), (2, None), (3, None), (4, None)) == expected


@pytest.mark.parametrize("after", [False, True])
def test_a_delta_evictor_keeps_what_has_no_distance(scenario: Any, after: bool) -> None:
    run = scenario(lambda s: windows(s, DeltaEvictor.of(5, lambda old, new: float("nan"), after)).apply(Contents()))
    assert fired(run, (1, None), (2, None), (3, None), (4, None)) == [[1, 2], [1, 2, 3, 4]]


class Odd(Evictor):
    """Takes odd numbers out before, and the first one after."""

    def evict_before(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        assert size == len(elements)
        elements[:] = [element for element in elements if element.get_value()[1] % 2 == 0]

    def evict_after(self, elements: list[TimestampedValue[Any]], size: int, window: Any, evictor_context: Any) -> None:
        assert size == len(elements)
        evictor_context.get_metric_group().counter("left").inc(size)
        del elements[:1]


def test_a_custom_evictor(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, Odd()).apply(Contents()))
    assert fired(run, *((number, None) for number in range(1, 9))) == [[2], [4], [6], [8]]
    assert run.harness.counter("left") == 4


def add_up(first: Any, second: Any) -> Any:
    return first[0], first[1] + second[1]


class Sum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


def test_with_an_evictor_records_are_combined_when_the_window_fires(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, CountEvictor.of(3)).reduce(add_up))
    assert fired(run, (1, None), (2, None), (3, None), (4, None)) == [("a", 3), ("a", 9)]
    run = scenario(lambda s: windows(s, CountEvictor.of(3)).reduce(add_up, Contents()))
    assert fired(run, (1, None), (2, None), (3, None), (4, None)) == [[3], [9]]
    run = scenario(lambda s: windows(s, CountEvictor.of(3)).aggregate(Sum()))
    assert fired(run, (1, None), (2, None), (3, None), (4, None)) == [3, 9]


def test_when_all_records_are_evicted(scenario: Any) -> None:
    run = scenario(lambda s: windows(s, CountEvictor.of(0)).apply(Contents()))
    assert fired(run, (1, None), (2, None)) == [[]]
    run = scenario(lambda s: windows(s, CountEvictor.of(0)).reduce(add_up))
    assert fired(run, (1, None), (2, None)) == []
    run = scenario(lambda s: windows(s, CountEvictor.of(0)).aggregate(Sum()))
    assert fired(run, (1, None), (2, None)) == [0]


def test_evictors_in_windows_of_time_with_lateness(scenario: Any) -> None:
    def build(stream: DataStream) -> DataStream:
        tumbling = stream.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of("10 ms"))
        return tumbling.allowed_lateness(5).evictor(CountEvictor.of(2)).apply(Contents())

    run = scenario(build)
    run.add((("a", 1), 1), (("a", 2), 3), (("a", 3), 2))
    assert run.watermark(9) == [([2, 3], 9)]
    assert run.add((("a", 4), 1)).results() == [([3, 4], 9)]
    assert run.watermark(14) == []
    assert run.stored() == 0


def test_evictors_in_sessions_that_merge(scenario: Any) -> None:
    def build(stream: DataStream) -> DataStream:
        sessions = stream.key_by(lambda pair: pair[0]).window(EventTimeSessionWindows.with_gap("10 ms"))
        return sessions.evictor(TimeEvictor.of("12 ms")).apply(Contents())

    run = scenario(build)
    run.add((("a", 1), 0), (("a", 2), 15), (("a", 3), 7))
    assert run.watermark(24) == [([2, 3], 24)]
    assert run.stored() == 0
