"""Triggers, evictors and lateness on both engines and in both modes, with a failure in the middle: as Flink's operator.

The source says where its watermarks are, so it is known what Flink's operator would do with every record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.one_job import collect_each
from penstock.common import Types
from penstock.datastream import DataStream, KeyedStream, OutputTag, StreamExecutionEnvironment, WindowFunction
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from penstock.testing import ScriptedSource, fail, pause, record, watermark
from properties.flink_window_operator import MAX, FlinkWindowOperator

Value = tuple[str, int]
VALUE = Types.TUPLE([Types.STRING(), Types.LONG()])
LATE = OutputTag("late", VALUE)
RECORDS = [(("abc"[n % 3], n * 7 % 11), n * 4 - (23 if n % 4 == 0 else 0)) for n in range(48)]
STEPS = [
    step
    for number, (value, time) in enumerate(RECORDS)
    for step in (record(value, time), *([watermark(time - 3)] if number % 3 == 2 else []))
]
MIDDLE = len(STEPS) // 2


def distance(one: Value, other: Value) -> float:
    return abs(other[1] - one[1])


class EverySecond(EventTimeTrigger):
    """Fires also for every record with an even number, and throws away what has fired."""

    def on_element(self, element: Value, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        result = super().on_element(element, timestamp, window, ctx)
        return result if element[1] % 2 else TriggerResult.FIRE_AND_PURGE


class NoEven(Evictor[Any, Any]):
    def evict_before(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        elements[:] = [each for each in elements if each.get_value()[1] % 2]

    def evict_after(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        del elements[:1]


TUMBLING = TumblingEventTimeWindows.of(20)
SESSIONS = EventTimeSessionWindows.with_gap(15)
WINDOWS: dict[str, tuple[WindowAssigner[Any, Any], Trigger[Any, Any], Evictor[Any, Any] | None, int]] = {
    "continuous": (TUMBLING, ContinuousEventTimeTrigger.of(6), None, 0),
    "continuous in sessions": (SESSIONS, ContinuousEventTimeTrigger.of(6), None, 10),
    "late firings": (TUMBLING, EventTimeTrigger(), None, 25),
    "late firings of sessions": (SESSIONS, EventTimeTrigger(), None, 25),
    "late firings that purge": (SlidingEventTimeWindows.of(20, 10), PurgingTrigger.of(EventTimeTrigger()), None, 25),
    "an offset": (TumblingEventTimeWindows.of(20, -7), EventTimeTrigger(), None, 0),
    "a gap of the record": (
        EventTimeSessionWindows.with_dynamic_gap(lambda value: 5 + value[1]),
        EventTimeTrigger(),
        None,
        5,
    ),
    "counts": (TUMBLING, CountTrigger.of(2), None, 0),
    "counts in sessions": (SESSIONS, PurgingTrigger.of(CountTrigger.of(2)), None, 0),
    "delta": (GlobalWindows.create(), DeltaTrigger.of(3, distance), None, 0),
    "timeout": (GlobalWindows.create(), ProcessingTimeoutTrigger.of(CountTrigger.of(3), "9999 d"), None, 0),
    "never": (TUMBLING, NeverTrigger(), None, 0),
    "a trigger of the program's own": (TUMBLING, EverySecond(), None, 10),
    "the end of the stream": (
        GlobalWindows.create_with_end_of_stream_trigger(),
        GlobalWindows.create_with_end_of_stream_trigger().get_default_trigger(None),
        None,
        0,
    ),
    "count evictor": (SESSIONS, EventTimeTrigger(), CountEvictor.of(2, do_evict_after=True), 25),
    "time evictor": (TUMBLING, EventTimeTrigger(), TimeEvictor.of(8), 25),
    "delta evictor": (TUMBLING, CountTrigger.of(2), DeltaEvictor.of(5, distance), 0),
    "an evictor of the program's own": (TUMBLING, EventTimeTrigger(), NoEven(), 25),
}


class Contents(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, repr(window), [tuple(each) for each in inputs]


def restarting(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    env.configuration.set_string("restart-strategy.type", "fixed-delay")
    env.configuration.set_string("restart-strategy.fixed-delay.attempts", "3")
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    env.configuration.set_string("execution.epoch.max-records", "10")
    return env


def windowed(stream: KeyedStream, name: str) -> DataStream:
    assigner, trigger, evictor, lateness = WINDOWS[name]
    windows = stream.window(assigner).trigger(trigger).allowed_lateness(lateness).side_output_late_data(LATE)
    return (windows if evictor is None else windows.evictor(evictor)).apply(Contents()).uid(name)


def expected(name: str, mode: str) -> tuple[list[Any], list[Any]]:
    flink = FlinkWindowOperator(*WINDOWS[name], key_of=lambda value: value[0])
    if mode == "BATCH":
        flink.process_batch(RECORDS)
    else:
        for number, (value, time) in enumerate(RECORDS):
            flink.process_element(value, time)
            if number % 3 == 2:
                flink.process_watermark(time - 3)
        flink.process_watermark(MAX)
    return sorted(repr(value) for value, _ in flink.results), sorted(repr(value) for value, _ in flink.late)


def test_every_trigger_and_evictor_is_as_flinks(env: StreamExecutionEnvironment, mode: str) -> None:
    source = ScriptedSource([*STEPS[:MIDDLE], fail(), *STEPS[MIDDLE:]], type_info=VALUE)
    stream = restarting(env).from_source(source).key_by(lambda value: value[0], Types.STRING())
    streams: dict[str, DataStream] = {}
    for name in WINDOWS:
        main = windowed(stream, name)
        streams |= {name: main, f"{name}, late": main.get_side_output(LATE)}
    found = collect_each(env, streams)
    for name in WINDOWS:
        results = sorted(map(repr, found[name])), sorted(repr(tuple(value)) for value in found[f"{name}, late"])
        assert results == expected(name, mode), name


def test_windows_of_the_clock_lose_and_double_nothing(env: StreamExecutionEnvironment, mode: str) -> None:
    steps = [record(value) for value, _ in RECORDS]
    script = [*steps[:20], pause("60 ms"), *steps[20:30], fail(), *steps[30:], pause("1 s")]
    stream = restarting(env).from_source(ScriptedSource(script, type_info=VALUE)).key_by(0)
    shifted = TumblingProcessingTimeWindows.of(20, 0, WindowStagger.NATURAL)
    windows = {
        "in columns": stream.window(TumblingProcessingTimeWindows.of(20)).sum(1),
        "by record": stream.window(shifted).reduce(lambda a, b: (a[0], a[1] + b[1])),
        "sessions": stream.window(ProcessingTimeSessionWindows.with_gap(30)).sum(1),
    }
    totals = {key: sum(number for (other, number), _ in RECORDS if other == key) for key in "abc"}
    for name, results in collect_each(env, windows).items():
        found = {key: sum(number for other, number in results if other == key) for key in "abc"}
        assert found == totals, name
        assert mode == "BATCH" or len(results) > len(totals), f"{name}: the pause is longer than a window"
