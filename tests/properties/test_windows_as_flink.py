"""Every assigner with every trigger, evictor, function and lateness does, step by step, what Flink's operator does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.datastream import AggregateFunction, DataStream, OutputTag, WindowFunction
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.testing import Harness, harness
from properties.flink_window_operator import MAX, FlinkWindowOperator

LATE = OutputTag("late")
Value = tuple[str, int]


def distance(one: Value, other: Value) -> float:
    return abs(other[1] - one[1])


ASSIGNERS: dict[str, WindowAssigner[Any, Any]] = {
    "tumbling": TumblingEventTimeWindows.of(10),
    "tumbling with an offset": TumblingEventTimeWindows.of(7, -3),
    "sliding": SlidingEventTimeWindows.of(10, 4),
    "sliding with an offset": SlidingEventTimeWindows.of(9, 6, -2),
    "sliding with gaps": SlidingEventTimeWindows.of(4, 10),
    "cumulating": CumulativeEventTimeWindows.of(12, 4, 1),
    "sessions": EventTimeSessionWindows.with_gap(5),
    "sessions with a gap of the record": EventTimeSessionWindows.with_dynamic_gap(lambda value: 1 + value[1] % 9),
    "global": GlobalWindows.create(),
    "global to the end": GlobalWindows.create_with_end_of_stream_trigger(),
    "counts": CountTumblingWindowAssigner.of(3),
    "sliding counts": CountSlidingWindowAssigner.of(3, 2),
    "tumbling by the clock": TumblingProcessingTimeWindows.of(10),
    "sliding by the clock": SlidingProcessingTimeWindows.of(10, 4),
    "cumulating by the clock": CumulativeProcessingTimeWindows.of(12, 4),
    "sessions by the clock": ProcessingTimeSessionWindows.with_gap(5),
}


class AskedEventTimeTrigger(EventTimeTrigger):
    """A trigger that the operator does not know, and so has to ask."""


TRIGGERS: dict[str, Trigger[Any, Any] | None] = {
    "its own": None,
    "asked": AskedEventTimeTrigger(),
    "event time": EventTimeTrigger(),
    "processing time": ProcessingTimeTrigger(),
    "continuous": ContinuousEventTimeTrigger.of(4),
    "continuous by the clock": ContinuousProcessingTimeTrigger.of(4),
    "count": CountTrigger.of(3),
    "purging": PurgingTrigger.of(EventTimeTrigger()),
    "purging counts": PurgingTrigger.of(CountTrigger.of(2)),
    "purging continuous": PurgingTrigger.of(ContinuousEventTimeTrigger.of(4)),
    "timeout": ProcessingTimeoutTrigger.of(CountTrigger.of(3), 6),
    "timeout that is reset": ProcessingTimeoutTrigger.of(EventTimeTrigger(), 6, True, False),
    "delta": DeltaTrigger.of(5, distance),
    "never": NeverTrigger(),
}

EVICTORS: list[Evictor[Any, Any] | None] = [
    None,
    None,
    None,
    *(CountEvictor.of(2, after) for after in (False, True)),
    *(TimeEvictor.of(5, after) for after in (False, True)),
    *(DeltaEvictor.of(6, distance, after) for after in (False, True)),
]

RECORD = st.tuples(st.just("record"), st.sampled_from("ab"), st.integers(-20, 25))
WATERMARK = st.tuples(st.just("watermark"), st.just(""), st.integers(-3, 12))
CLOCK = st.tuples(st.just("clock"), st.just(""), st.integers(0, 9))
RESTART = st.tuples(st.just("restart"), st.just(""), st.integers(1, 3))
STEPS = st.lists(st.one_of(RECORD, RECORD, RECORD, WATERMARK, CLOCK, RESTART), max_size=35)
"""Times are those since the last watermark, or on the clock; those of restarts are the number of subtasks."""


class Contents(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, repr(window), list(inputs)


class ContentsOfOne(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        (values,) = inputs
        yield key, repr(window), values if isinstance(values, list) else [values]


class Collect(AggregateFunction):
    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        return [*accumulator, value]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class CollectSome(Collect):
    def get_result(self, accumulator: Any) -> Any:
        return accumulator if has_some(accumulator) else None


def has_some(values: list[Value]) -> bool:
    return len(values) % 3 != 2


def collect(one: Any, two: Any) -> Any:
    return [*(one if isinstance(one, list) else [one]), *(two if isinstance(two, list) else [two])]


def pipeline(
    assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any], evictor: Any, lateness: int, how: str
) -> Any:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda value: value[0]).window(assigner).trigger(trigger).allowed_lateness(lateness)
        windows = windows.side_output_late_data(LATE)
        if evictor is not None:
            windows = windows.evictor(evictor)
        match how:
            case "apply":
                return windows.apply(Contents()).uid("windows")
            case "reduce":
                return windows.reduce(collect, ContentsOfOne()).uid("windows")
            case "aggregate some":
                return windows.aggregate(CollectSome(), ContentsOfOne()).uid("windows")
            case _:
                return windows.aggregate(Collect(), ContentsOfOne()).uid("windows")

    return build


def compare(test: Harness, flink: FlinkWindowOperator, how: str) -> None:
    # Nothing can be reduced where an evictor has taken all records: Flink would give null.
    expected = [each for each in flink.results if each[0][2] or how != "reduce"]
    assert sorted(test.output(), key=repr) == sorted(expected, key=repr)
    assert sorted(test.side_output(LATE)) == sorted(flink.late)
    flink.results, flink.late = [], []


@pytest.mark.parametrize("name", ASSIGNERS)
@settings(max_examples=25, deadline=None)
@given(
    trigger_name=st.sampled_from(sorted(TRIGGERS)),
    evictor=st.sampled_from(EVICTORS),
    lateness=st.sampled_from([0, 5, 100]),
    how=st.sampled_from(["apply", "reduce", "aggregate", "aggregate some"]),
    steps=STEPS,
)
def test_it_does_what_flink_does(
    name: str, trigger_name: str, evictor: Evictor[Any, Any] | None, lateness: int, how: str, steps: list[Any]
) -> None:
    assigner = ASSIGNERS[name]
    trigger = TRIGGERS[trigger_name] or assigner.get_default_trigger(None)
    assume(trigger.can_merge() or not isinstance(assigner, MergingWindowAssigner))
    assume(evictor is None or how != "aggregate some")
    build = pipeline(assigner, trigger, evictor, lateness, how)
    test = harness(build)
    has_result = has_some if how == "aggregate some" else bool
    flink = FlinkWindowOperator(assigner, trigger, evictor, lateness, lambda value: value[0], has_result)
    watermark, now = -10, 0
    for number, (kind, key, time) in enumerate(steps):
        match kind:
            case "record":
                test.process_element((key, number), watermark + time)
                flink.process_element((key, number), watermark + time)
            case "watermark":
                watermark += time
                test.process_watermark(watermark)
                flink.process_watermark(watermark)
            case "clock":
                now += time
                test.set_processing_time(now)
                flink.set_processing_time(now)
            case _:
                snapshot = test.snapshot()
                test = harness(build, parallelism=time)
                test.restore(snapshot)
        compare(test, flink, how)
    test.close()
    flink.process_watermark(MAX)
    compare(test, flink, how)
