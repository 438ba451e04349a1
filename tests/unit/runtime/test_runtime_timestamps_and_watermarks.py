"""`assign_timestamps_and_watermarks`, step by step, with a restart between any two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.errors import UserFunctionError
from penstock.common.timestamp_assigner import RecordTimestampAssigner
from penstock.common.watermark_generator import BoundedOutOfOrdernessWatermarks, NoWatermarksGenerator
from penstock.common.watermark_strategy import (
    IngestionTimeAssigner,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime.timestamps_and_watermarks_operator import TimestampsAndWatermarksOperator
from unit.runtime.operator_harness import Harness


def by_value(strategy: WatermarkStrategy) -> WatermarkStrategy:
    return strategy.with_timestamp_assigner(lambda value, _: value)


def harness_of(strategy: WatermarkStrategy, *, restarts: bool = False) -> Harness:
    return Harness(lambda: TimestampsAndWatermarksOperator(strategy), restarts=restarts)


MONOTONOUS = by_value(WatermarkStrategy.for_monotonous_timestamps())


@pytest.mark.parametrize("restarts", [False, True])
def test_records_get_timestamps_and_an_epoch_ends_with_its_watermark(restarts: bool) -> None:
    harness = harness_of(MONOTONOUS, restarts=restarts)
    harness.process([10, 30, 20])
    if not restarts:
        harness.end_epoch()
    harness.process([25])
    harness.process([40])
    harness.end_epoch()
    assert harness.taken() == [(10, 10), (30, 30), (20, 20), (25, 25), (40, 40)]
    assert harness.output.log == [10, 30, 20, ("watermark", 29), 25, 40, ("watermark", 39)]


def test_watermarks_of_the_input_are_dropped_but_for_the_end_of_time() -> None:
    harness = harness_of(MONOTONOUS)
    harness.process([10])
    assert harness.operator.advance_watermark(500) == MIN_WATERMARK
    harness.end_epoch()
    assert harness.operator.advance_watermark(500) == 9
    assert harness.operator.advance_watermark(MAX_WATERMARK) == MAX_WATERMARK
    harness.end_epoch()
    assert harness.output.log == [10, ("watermark", 9)]
    assert harness.operator.next_processing_timer() is None


def test_idleness_of_the_input_is_dropped() -> None:
    assert not harness_of(MONOTONOUS).operator.passes_idleness


@pytest.mark.parametrize("restarts", [False, True])
def test_silence_makes_it_idle_and_a_higher_watermark_active_again(restarts: bool) -> None:
    harness = harness_of(MONOTONOUS.with_idleness(100), restarts=restarts)
    harness.process([10])
    harness.end_epoch()
    assert harness.operator.next_processing_timer() == 1_100
    harness.clock(1_099)
    harness.end_epoch()
    assert harness.output.log == [10, ("watermark", 9)]
    harness.clock(1_100)
    harness.end_epoch()
    assert harness.output.log[2:] == ["idle"]
    assert harness.operator.next_processing_timer() is None
    harness.clock(1_500)
    harness.process([5])
    harness.end_epoch()
    assert harness.output.log[3:] == [5], "as in Flink: a watermark that is not above the last changes nothing"
    harness.process([20])
    harness.end_epoch()
    assert harness.output.log[4:] == [20, ("watermark", 19)]


def test_time_in_which_no_record_could_come_is_no_silence() -> None:
    harness = harness_of(MONOTONOUS.with_idleness(100))
    harness.process([10])
    harness.clock(1_060)
    harness.end_epoch()
    harness.clock(5_000)
    harness.operator.time_goes_on(anew=False)
    harness.clock(5_039)
    harness.end_epoch()
    assert harness.output.log == [10, ("watermark", 9)]
    harness.clock(5_040)
    harness.end_epoch()
    assert harness.output.log[2:] == ["idle"]
    harness.operator.time_goes_on(anew=False)
    assert harness.operator.is_idle
    harness.operator.time_goes_on(anew=True)
    assert not harness.operator.is_idle
    assert harness.operator.next_processing_timer() == 5_140


def test_before_the_first_record_silence_counts_from_the_beginning() -> None:
    harness = harness_of(MONOTONOUS.with_idleness(100))
    harness.end_epoch()
    assert harness.operator.next_processing_timer() == 1_100
    harness.clock(1_100)
    harness.end_epoch()
    assert harness.output.log == ["idle"]


class Punctuated(WatermarkGenerator):
    """A watermark after every negative number; every third record is counted."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.seen += 1
        if event < 0:
            output.emit_watermark(Watermark(event_timestamp))
        if self.seen % 3 == 0:
            output.emit_watermark(1_000 * self.seen)


PUNCTUATED = WatermarkStrategy.for_generator(Punctuated).with_timestamp_assigner(lambda value, _: abs(value))


@pytest.mark.parametrize("restarts", [False, True])
def test_a_punctuated_watermark_comes_right_behind_its_record(restarts: bool) -> None:
    harness = harness_of(PUNCTUATED, restarts=restarts)
    harness.process([1, -2])
    harness.process([3, 4, -1])
    assert harness.output.log == [1, -2, ("watermark", 2), 3, ("watermark", 3_000), 4, -1]
    assert harness.output.batch_sizes == [2, 1, 2], "a watermark that is not above the last cuts nothing"


@given(
    st.lists(st.integers(-5_000, 5_000), max_size=30),
    st.sets(st.integers(0, 30)),
    st.sampled_from([PUNCTUATED, MONOTONOUS, by_value(WatermarkStrategy.for_bounded_out_of_orderness(700))]),
)
def test_restarts_change_nothing_but_how_often_watermarks_come(
    values: list[int], cuts: set[int], strategy: WatermarkStrategy
) -> None:
    """Where epochs end is free; records, their timestamps and the last watermark are not."""

    def run(restart: bool) -> tuple[list[Any], Any]:
        harness = harness_of(strategy)
        for place, value in enumerate(values):
            harness.process([value])
            if restart and place in cuts:
                harness.restart()
        harness.end_epoch()
        watermarks = [event for event in harness.output.log if isinstance(event, tuple)]
        assert watermarks == sorted(set(watermarks))
        return harness.taken(), watermarks[-1:]

    assert run(True) == run(False)


class AtZero(BoundedOutOfOrdernessWatermarks):
    """Also says something of its own, behind a zero."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        super().on_event(event, event_timestamp, output)
        if event == 0:
            output.emit_watermark(500)


class Everything(NoWatermarksGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (WatermarkStrategy.for_generator(lambda: AtZero(10)), [("watermark", 500), 900, ("watermark", 889)]),
        (WatermarkStrategy.for_generator(Everything), [("watermark", 0), 900, ("watermark", 900)]),
    ],
)
def test_a_subclass_of_our_generators_sees_every_record(strategy: WatermarkStrategy, expected: list[Any]) -> None:
    harness = harness_of(by_value(strategy))
    harness.process([0, 900])
    harness.end_epoch()
    assert harness.output.log == [0, *expected]


class AHundredLater(RecordTimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp + 100


class OfTheRecord(IngestionTimeAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value


class Ingested(IngestionTimeAssigner):
    """Nothing of its own."""


@pytest.mark.parametrize(("assigner", "time"), [(AHundredLater(), 105), (OfTheRecord(), 7), (Ingested(), 1_000)])
def test_a_subclass_of_our_assigners_is_asked_for_the_time(assigner: TimestampAssigner, time: int) -> None:
    harness = harness_of(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner))
    harness.process([7], timestamps=[5])
    assert harness.taken() == [(7, time)]


class TimeLag(WatermarkGenerator):
    """Follows the clock: has something to say without records too."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        return

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self._clock() - 50)

    def snapshot(self) -> None:
        return None


class TimeLagOfOurs(TimeLag, NoWatermarksGenerator):
    """The same, by a subclass of one of ours."""


@pytest.mark.parametrize("kind", [TimeLag, TimeLagOfOurs])
def test_a_generator_of_ones_own_is_asked_again_and_again(kind: type[TimeLag]) -> None:
    now = [1_000]
    harness = harness_of(WatermarkStrategy.for_generator(lambda: kind(lambda: now[0])))
    harness.end_epoch()
    assert harness.operator.next_processing_timer() == 1_200
    now[0] = 1_200
    harness.clock(1_200)
    harness.end_epoch()
    assert harness.output.log == [("watermark", 950), ("watermark", 1_150)]
    assert harness.operator.next_processing_timer() == 1_400


class Behind(WatermarkGenerator):
    """Keeps its state in attributes, as Penstock's own do not."""

    def __init__(self) -> None:
        self.highest = MIN_WATERMARK + 5

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.highest = max(self.highest, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.highest - 5)


STRATEGIES = {
    "none": WatermarkStrategy.no_watermarks(),
    "monotonous": WatermarkStrategy.for_monotonous_timestamps(),
    "own": WatermarkStrategy.for_generator(Behind),
    "lagging": WatermarkStrategy.for_generator(lambda: TimeLag(lambda: 250)),
}
SAID = {"none": [], "monotonous": [("watermark", 199)], "own": [("watermark", 195)], "lagging": [("watermark", 200)]}


@pytest.mark.parametrize("before", STRATEGIES)
@pytest.mark.parametrize("after", STRATEGIES)
def test_a_program_may_come_back_with_another_strategy(before: str, after: str) -> None:
    harness = harness_of(by_value(STRATEGIES[before]))
    harness.process([100])
    harness.make_operator = lambda: TimestampsAndWatermarksOperator(by_value(STRATEGIES[after]))
    harness.restart()
    harness.output.log.clear()
    harness.process([200])
    harness.end_epoch()
    assert harness.output.log == [200, *([] if before == "lagging" else SAID[after])], "lagging was at 200 before"


def test_an_interval_of_zero_means_no_periodic_watermarks() -> None:
    harness = harness_of(MONOTONOUS.with_idleness(1))
    harness.context.watermark_interval = 0
    harness.process([10])
    harness.clock(9_000)
    harness.end_epoch()
    assert harness.output.log == [10]
    assert harness.operator.next_processing_timer() is None


def test_batch_execution_only_stamps() -> None:
    harness = harness_of(PUNCTUATED)
    harness.context.batch = True
    harness.process([-1, -2])
    harness.end_epoch()
    assert harness.output.log == [-1, -2]
    assert harness.operator.advance_watermark(MAX_WATERMARK) == MAX_WATERMARK


def test_ingestion_time_is_the_time_of_the_epoch() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(IngestionTimeAssigner())
    harness = harness_of(strategy)
    harness.process(["a", "b"])
    harness.end_epoch()
    assert harness.taken() == [("a", 1_000), ("b", 1_000)]
    assert harness.output.log[2:] == [("watermark", 999)]


def test_an_assigner_sees_the_timestamp_so_far() -> None:
    seen: list[int] = []

    def assign(value: Any, before: int) -> int:
        seen.append(before)
        return 1

    harness = harness_of(WatermarkStrategy.no_watermarks().with_timestamp_assigner(assign))
    harness.process(["a", "b"], timestamps=[7, None])
    harness.process(["c"])
    assert seen == [7, -(1 << 63), -(1 << 63)]


def test_without_an_assigner_timestamps_stay_and_no_timestamp_is_no_error() -> None:
    harness = harness_of(WatermarkStrategy.for_monotonous_timestamps())
    harness.process(["a", "b"], timestamps=[7, None])
    harness.process(["c"])
    harness.end_epoch()
    assert harness.taken() == [("a", 7), ("b", None), ("c", None)]
    assert harness.output.log[-1] == ("watermark", 6)


@pytest.mark.parametrize("wrong", [None, float("nan"), float("inf"), "1000", 1 << 63, -(1 << 63) - 1])
def test_what_is_no_time_is_refused_with_the_record(wrong: Any) -> None:
    harness = harness_of(MONOTONOUS)
    with pytest.raises(UserFunctionError, match="expected milliseconds that fit into 64 bits") as failure:
        harness.process([5, wrong])
    assert failure.value.report.error_type == "EventTimeError"
    assert failure.value.report.record == repr(wrong)


def test_what_is_behind_the_point_of_a_timestamp_is_cut_off_as_in_pyflink() -> None:
    harness = harness_of(MONOTONOUS)
    harness.process([5, 7.9, -0.5, True])
    assert harness.taken() == [(5, 5), (7.9, 7), (-0.5, 0), (True, 1)]


def test_the_lowest_time_of_all_means_no_timestamp() -> None:
    harness = harness_of(MONOTONOUS)
    harness.process([5, -(1 << 63)])
    assert harness.taken() == [(5, 5), (-(1 << 63), None)]


def test_an_assigner_that_fails_is_reported_with_the_record() -> None:
    harness = harness_of(WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, _: value["time"]))
    with pytest.raises(UserFunctionError, match="KeyError") as failure:
        harness.process([{"time": 1}, {"tim": 2}])
    assert failure.value.report.record == "{'tim': 2}"


class Wrong(WatermarkGenerator):
    def __init__(self) -> None:
        self.watermark: Any = 1.5
        self.kept: Any = None

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event == "emit":
            output.emit_watermark(self.watermark)
        elif event == "raise":
            raise RuntimeError("a bug")
        else:
            self.kept = event


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("emit", r"emitted the watermark 1.5 \(float\)"),
        ("raise", "RuntimeError: a bug"),
        ({1, 2}, r"Wrong cannot be saved between epochs: snapshot\(\)\['kept'\] is \{1, 2\} \(set\)"),
        ([{"a": (1,)}], r"snapshot\(\)\['kept'\]\[0\]\['a'\] is \(1,\) \(tuple\)"),
        ({1: "a"}, "has the key 1, which is no text"),
    ],
)
def test_what_a_generator_does_wrong_is_reported(event: Any, message: str) -> None:
    harness = harness_of(WatermarkStrategy.for_generator(Wrong), restarts=True)
    with pytest.raises(UserFunctionError, match=message):
        harness.process([event])


def test_something_that_is_no_generator_is_refused() -> None:
    strategy = WatermarkStrategy.for_generator(lambda: "generator")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserFunctionError, match="expected a WatermarkGenerator"):
        harness_of(strategy).process([1])
