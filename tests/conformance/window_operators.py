"""Windows, each in a small program: a part of `operators.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
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
    EventTimeTrigger,
    GlobalWindows,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TumblingEventTimeWindows,
    WindowAssigner,
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


class Firings(ProcessWindowFunction[Any, Any, Any, Any]):
    """Counts them for each window by itself."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        firings = self.of_window(context)
        firings.update((firings.value() or 0) + 1)
        yield key, str(context.window()), firings.value()

    def clear(self, context: Any) -> None:
        self.of_window(context).clear()

    def of_window(self, context: Any) -> Any:
        return context.window_state().get_state(ValueStateDescriptor("firings of the window", Types.LONG()))


class WindowsByNumber(WindowAssigner[Any, Any]):
    """A short window for every record, and a long one for those with an even number."""

    def __init__(self, short: int, long: int) -> None:
        self.short = short
        self.long = long

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        sizes = (self.short,) if element[1] % 2 else (self.short, self.long)
        return [TimeWindow(timestamp - timestamp % size, timestamp - timestamp % size + size) for size in sizes]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class SessionsWithinADay(MergingWindowAssigner[Any, Any]):
    """Sessions that end with the day at the latest: those of two days do not merge, though they touch."""

    def __init__(self, gap: int, day: int) -> None:
        self.gap = gap
        self.day = day

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        midnight = timestamp - timestamp % self.day + self.day
        return [TimeWindow(timestamp, min(timestamp + self.gap, midnight))]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        days: dict[int, list[TimeWindow]] = {}
        for window in windows:
            days.setdefault(window.start // self.day, []).append(window)
        for of_day in days.values():
            TimeWindow.merge_windows(of_day, callback)

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


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
    "windows of the program's own": lambda env: timed_and_keyed(env).window(WindowsByNumber(200, 400)).apply(Sizes()),
    "merging windows of the program's own": lambda env: (
        timed_and_keyed(env).window(SessionsWithinADay(71, 200)).apply(Sizes())
    ),
    "state of windows": lambda env: (
        timed_and_keyed(env)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(200)))
        .trigger(CountTrigger.of(1))
        .process(Firings())
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
