"""Triggers, evictors and lateness on both engines and in both modes, with a failure in the middle: as Flink's operator.

The source says where its watermarks are, so it is known what Flink's operator would do with every record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.one_job import collect_each
from conformance.window_operators import SessionsWithinADay, WindowsByNumber
from penstock.common import Types
from penstock.datastream import (
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    CumulativeProcessingTimeWindows,
    DeltaEvictor,
    DeltaTrigger,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
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
    for step in (record(value, time), *([watermark(time - 3)] if number % 3 == 2 and number % 4 else []))
]
MIDDLE = len(STEPS) // 2


def added(one: Value, other: Value) -> Value:
    return one[0], one[1] + other[1]


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
    "an assigner of the program's own": (WindowsByNumber(10, 40), EventTimeTrigger(), None, 10),
    "an assigner of the program's own that merges": (SessionsWithinADay(15, 60), EventTimeTrigger(), None, 10),
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


class WholeWindows(ProcessWindowFunction[Any, Any, Any, Any]):
    """Of cumulative windows the longest: they have every record once, as windows that do not overlap."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        if window.end - window.start == 40:
            yield key, sum(number for _, number in elements)


def test_windows_of_the_clock_lose_and_double_nothing(env: StreamExecutionEnvironment, mode: str) -> None:
    steps = [record(value) for value, _ in RECORDS]
    script = [*steps[:20], pause("60 ms"), *steps[20:30], fail(), *steps[30:], pause("1 s")]
    stream = restarting(env).from_source(ScriptedSource(script, type_info=VALUE)).key_by(0)
    shifted = TumblingProcessingTimeWindows.of(20, 0, WindowStagger.NATURAL)
    overlapping = SlidingProcessingTimeWindows.of(40, 20)
    gaps = DynamicProcessingTimeSessionWindows.with_dynamic_gap(lambda value: 20 + value[1])
    # Of a key 16 records come: without the timeout the last two would stay where they are.
    timeout = PurgingTrigger.of(ProcessingTimeoutTrigger.of(CountTrigger.of(7), 30))
    windows = {
        "in columns": stream.window(TumblingProcessingTimeWindows.of(20)).sum(1),
        "by record": stream.window(shifted).reduce(added),
        "sliding": stream.window(overlapping).sum(1),
        "sliding by record": stream.window(overlapping).trigger(ProcessingTimeTrigger()).reduce(added),
        "cumulative": stream.window(CumulativeProcessingTimeWindows.of(40, 20)).process(WholeWindows()),
        "sessions": stream.window(ProcessingTimeSessionWindows.with_gap(30)).sum(1),
        "sessions with a gap of the record": stream.window(gaps).reduce(added),
        "timeout": stream.window(GlobalWindows.create()).trigger(timeout).reduce(added),
    }
    totals = {key: sum(number for (other, number), _ in RECORDS if other == key) for key in "abc"}
    for name, results in collect_each(env, windows).items():
        windows_of_a_record = 2 if "sliding" in name else 1
        found = {key: sum(number for other, number in results if other == key) for key in "abc"}
        assert found == {key: total * windows_of_a_record for key, total in totals.items()}, name
        assert mode == "BATCH" or len(results) > len(totals), f"{name}: the pause is longer than a window"


def test_a_trigger_that_fires_again_and_again_by_the_clock(env: StreamExecutionEnvironment, mode: str) -> None:
    steps = [record(value) for value, _ in RECORDS]
    source = ScriptedSource([*steps[:20], pause("300 ms"), fail(), *steps[20:], pause("300 ms")], type_info=VALUE)
    windows = restarting(env).from_source(source).key_by(0).window(GlobalWindows.create())
    results = list(windows.trigger(ContinuousProcessingTimeTrigger.of("200 ms")).reduce(added).execute_and_collect())
    for key in "abc":
        sums = [number for other, number in results if other == key]
        assert sums == sorted(sums)
        assert sums[-1] == sum(number for (other, number), _ in RECORDS if other == key)
        assert mode == "BATCH" or len(set(sums)) > 1


class Remembered(ProcessWindowFunction[Any, Any, Any, Any]):
    """How often the window has fired, and how often those had fired whose time is over."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        firings = context.window_state().get_state(ValueStateDescriptor("firings", Types.LONG()))
        firings.update((firings.value() or 0) + 1)
        over = context.global_state().get_list_state(ListStateDescriptor("over", Types.LONG()))
        yield context.window().start, len(list(elements)), firings.value(), list(over.get())

    def clear(self, context: Any) -> None:
        firings = context.window_state().get_state(ValueStateDescriptor("firings", Types.LONG()))
        context.global_state().get_list_state(ListStateDescriptor("over", Types.LONG())).add(firings.value())
        firings.clear()


def test_a_window_has_state_of_its_own_until_it_is_over(env: StreamExecutionEnvironment, mode: str) -> None:
    """Windows of 10 that are kept for 5 more: the first two fire again for late records."""
    script = [
        *(record(("a", 1), 1), record(("a", 2), 11), watermark(9), pause("1 ms"), record(("a", 3), 2), watermark(12)),
        *(pause("1 ms"), fail(), record(("a", 4), 3), watermark(19), pause("1 ms")),
        *(record(("a", 5), 12), watermark(31), pause("1 ms"), record(("a", 6), 41)),
    ]
    stream = restarting(env).from_source(ScriptedSource(script, type_info=VALUE)).key_by(0)
    windows = stream.window(TumblingEventTimeWindows.of(10)).allowed_lateness(5)
    results = list(windows.process(Remembered()).execute_and_collect())
    if mode == "BATCH":
        assert results == [(0, 3, 1, []), (10, 2, 1, [1]), (40, 1, 1, [1, 1])]
    else:
        assert results == [
            *((0, 1, 1, []), (0, 2, 2, []), (0, 3, 3, [])),
            *((10, 1, 1, [3]), (10, 2, 2, [3])),
            (40, 1, 1, [3, 2]),
        ]
