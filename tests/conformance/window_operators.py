"""Windows, each in a small program: a part of `operators.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from conformance.operator_inputs import PAIR, Mean, keyed, records, timed, timed_and_keyed
from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import AllWindowedStream, DataStream, OutputTag, StreamExecutionEnvironment, WindowedStream
from penstock.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(60))


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        firings = context.global_state().get_state(ValueStateDescriptor("firings", Types.LONG()))
        firings.update((firings.value() or 0) + 1)
        yield key, str(context.window()), [element[1] for element in elements], firings.value()


class Sizes(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(key, str(window), len(list(inputs)))]


class AllContents(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield str(context.window()), sorted(element[1] for element in elements)


class AllSizes(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(str(window), len(list(inputs)))]


LATE = OutputTag("late", PAIR)


def late_records(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    stream = records(env).assign_timestamps_and_watermarks(strategy).key_by(lambda pair: pair[0], Types.STRING())
    windows = stream.window(TumblingEventTimeWindows.of(Time.milliseconds(20))).side_output_late_data(LATE)
    main = windows.process(Contents(), Types.PICKLED_BYTE_ARRAY())
    return main.union(main.get_side_output(LATE).map(lambda pair: ("late", pair), Types.PICKLED_BYTE_ARRAY()))


def of_all(env: StreamExecutionEnvironment) -> AllWindowedStream:
    return timed(records(env)).set_parallelism(1).window_all(TUMBLING)


def fields(windows: WindowedStream | AllWindowedStream) -> DataStream:
    found = [getattr(windows, method)(1) for method in ("sum", "min", "max", "min_by", "max_by")]
    return found[0].union(*found[1:])


WINDOWS: dict[str, Callable[[StreamExecutionEnvironment], DataStream]] = {
    "tumbling windows": lambda env: timed_and_keyed(env).window(TUMBLING).process(Contents()),
    "sliding windows": lambda env: (
        timed_and_keyed(env)
        .window(SlidingEventTimeWindows.of(Time.milliseconds(90), Time.milliseconds(30)))
        .process(Contents())
    ),
    "cumulative windows": lambda env: (
        timed_and_keyed(env)
        .window(CumulativeEventTimeWindows.of(Time.milliseconds(90), Time.milliseconds(30)))
        .process(Contents())
    ),
    "session windows": lambda env: (
        timed_and_keyed(env).window(EventTimeSessionWindows.with_gap(Time.milliseconds(71))).process(Contents())
    ),
    "count windows": lambda env: keyed(env).count_window(3).process(Contents()),
    "sliding count windows": lambda env: keyed(env).count_window(4, 2).process(Contents()),
    "global windows": lambda env: keyed(env).window(GlobalWindows.create()).trigger(CountTrigger.of(3)).apply(Sizes()),
    "windows of all records": lambda env: timed(records(env)).window_all(TUMBLING).reduce(lambda a, b: (".", b[1])),
    "count windows of all records": lambda env: records(env).set_parallelism(1).count_window_all(5).sum(1),
    "reduce in windows": lambda env: timed_and_keyed(env).window(TUMBLING).reduce(lambda a, b: (a[0], a[1] + b[1])),
    "aggregate in windows": lambda env: timed_and_keyed(env).window(TUMBLING).aggregate(Mean()),
    "aggregate in sessions": lambda env: (
        timed_and_keyed(env).window(EventTimeSessionWindows.with_gap(Time.milliseconds(71))).aggregate(Mean())
    ),
    "evictor": lambda env: timed_and_keyed(env).window(TUMBLING).evictor(CountEvictor.of(1)).process(Contents()),
    "late records": late_records,
    "fields in windows": lambda env: fields(timed_and_keyed(env).window(TUMBLING)),
    "fields in windows of all records": lambda env: fields(of_all(env)),
    "process windows of all records": lambda env: of_all(env).process(AllContents()),
    "apply to windows of all records": lambda env: of_all(env).apply(AllSizes()),
    "aggregate windows of all records": lambda env: of_all(env).aggregate(Mean()),
}  # fmt: skip
