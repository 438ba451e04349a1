"""All operators, each in a small program over a few epochs: what the tests of restarts run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.connectors.files import FileSource, JsonLinesFormat
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    StreamExecutionEnvironment,
)
from penstock.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    WindowFunction,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
# Seven keys that come again in every epoch; times that rise, with every fifth record a little late.
RECORDS = [(f"k{n % 7}", n * 10 - (25 if n % 5 == 0 else 0)) for n in range(3, 51)]
OTHERS = [(f"k{n % 5}", n * 7) for n in range(4, 28)]


def records(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(RECORDS, PAIR)


def keyed(env: StreamExecutionEnvironment) -> KeyedStream:
    return records(env).key_by(lambda pair: pair[0], Types.STRING())


def timed(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda pair, _: pair[1]))


def timed_and_keyed(env: StreamExecutionEnvironment) -> KeyedStream:
    return timed(records(env)).key_by(lambda pair: pair[0], Types.STRING())


# --- functions without keys

ODD = OutputTag("odd", PAIR)


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield (ODD, value) if value[1] % 2 else value


def side_outputs(env: StreamExecutionEnvironment) -> DataStream:
    main = records(env).process(Split(), PAIR)
    return main.union(main.get_side_output(ODD).map(lambda pair: ("odd", pair[1]), PAIR))


class Numbered(MapFunction, CheckpointedFunction):
    def __init__(self) -> None:
        self.count = 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(ListStateDescriptor("count", Types.LONG()))
        self.count = sum(self.saved.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([self.count])

    def map(self, value: Any) -> Any:
        self.count += 1
        return value, self.count


class Asked(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        return [value, ("again", value[1])]


# --- keyed functions


class EveryState(KeyedProcessFunction):
    """Says what all kinds of state hold."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.LONG()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.LONG(), Types.STRING()))
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG()))
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.value.update((self.value.value() or 0) + 1)
        self.list.add(value[1])
        self.map.put(value[1] % 3, value[0])
        self.sum.add(value[1])
        self.mean.add(value[1])
        yield (
            value[0],
            self.value.value(),
            list(self.list.get()),
            sorted(self.map.items()),
            self.sum.get(),
            self.mean.get(),
        )
        if value[1] % 4 == 0:
            self.list.clear()
            self.map.clear()


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        number = value if isinstance(value, int) else value[1]
        return accumulator[0] + number, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Counted:
    """A count for each key, for functions of several classes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def count(self) -> int:
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        return count


class CountedMap(Counted, MapFunction):
    def map(self, value: Any) -> Any:
        return value, self.count()


class CountedFlatMap(Counted, FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        return [(value, n) for n in range(self.count())]


class CountedFilter(Counted, FilterFunction):
    def filter(self, value: Any) -> bool:
        return self.count() % 3 == 0


class Timers(Counted, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        self.count()
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 40)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, self.state.value()


# --- two inputs

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def others(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(OTHERS, PAIR)


class BothMapped(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "first", value

    def map2(self, value: Any) -> Any:
        return "second", value


class BothFlatMapped(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        return [value, value]

    def flat_map2(self, value: Any) -> Iterable[Any]:
        return [value]


class BothProcessed(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield "first", value

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield "second", value


class Matched(Counted, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(10_000 + value[1])
        yield value, self.count()

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.state.value()


class Ruled(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


class KeyedRuled(Counted, KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, self.count(), sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


# --- windows


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        firings = context.global_state().get_state(ValueStateDescriptor("firings", Types.LONG()))
        firings.update((firings.value() or 0) + 1)
        yield key, str(context.window()), [element[1] for element in elements], firings.value()


class Sizes(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(key, str(window), len(list(inputs)))]


LATE = OutputTag("late", PAIR)


def late_records(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    stream = records(env).assign_timestamps_and_watermarks(strategy).key_by(lambda pair: pair[0], Types.STRING())
    windows = stream.window(TumblingEventTimeWindows.of(Time.milliseconds(20))).side_output_late_data(LATE)
    main = windows.process(Contents(), Types.PICKLED_BYTE_ARRAY())
    return main.union(main.get_side_output(LATE).map(lambda pair: ("late", pair), Types.PICKLED_BYTE_ARRAY()))


def files(env: StreamExecutionEnvironment) -> DataStream:
    row = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    directory = Path(env.configuration.get_string("execution.checkpointing.dir", "")).parent / "in"
    if not directory.exists():
        directory.mkdir(parents=True)
        for part in range(3):
            lines = (f'{{"k": "{k}", "n": {n}}}\n' for k, n in RECORDS[part::3])
            (directory / f"{part}.json").write_text("".join(lines))
    return env.from_source(FileSource.for_record_stream_format(JsonLinesFormat(row), str(directory)).build())


TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(60))

OPERATORS: dict[str, Callable[[StreamExecutionEnvironment], DataStream]] = {
    "map": lambda env: records(env).map(lambda pair: (pair[0], pair[1] + 1), PAIR),
    "flat_map": lambda env: records(env).flat_map(lambda pair: [pair] * (pair[1] % 3), PAIR),
    "filter": lambda env: records(env).filter(lambda pair: pair[1] % 3),
    "process": side_outputs,
    "project": lambda env: records(env).project(1),
    "list state of operators": lambda env: records(env).map(Numbered()),
    "rebalance": lambda env: records(env).rebalance().map(Numbered()).set_parallelism(3),
    "rescale": lambda env: records(env).rescale().map(lambda pair: pair).set_parallelism(3),
    "shuffle": lambda env: records(env).shuffle().map(lambda pair: pair).set_parallelism(3),
    "global": lambda env: records(env).global_().map(Numbered()),
    "broadcast": lambda env: records(env).broadcast().map(Numbered()).set_parallelism(3),
    "partition_custom": lambda env: records(env).partition_custom(lambda n, of: n % of, 1).map(Numbered()),
    "union": lambda env: records(env).union(others(env)).map(lambda pair: pair, PAIR),
    "from_sequence": lambda env: env.from_sequence(1, 40).map(lambda n: n * n, Types.LONG()),
    "file source": files,
    "async, ordered": lambda env: AsyncDataStream.ordered_wait(records(env), Asked(), Time.seconds(60)),
    "async, unordered": lambda env: AsyncDataStream.unordered_wait(records(env), Asked(), Time.seconds(60)),
    "keyed process": lambda env: keyed(env).process(EveryState()),
    "keyed map": lambda env: keyed(env).map(CountedMap()),
    "keyed flat_map": lambda env: keyed(env).flat_map(CountedFlatMap()),
    "keyed filter": lambda env: keyed(env).filter(CountedFilter()),
    "reduce": lambda env: keyed(env).reduce(lambda a, b: (a[0], a[1] - b[1])),
    "sum": lambda env: keyed(env).sum(1),
    "min": lambda env: keyed(env).min(1),
    "max": lambda env: keyed(env).max(1),
    "min_by": lambda env: keyed(env).min_by(1),
    "max_by": lambda env: keyed(env).max_by(1),
    "event-time timers": lambda env: timed_and_keyed(env).process(Timers()),
    "two keyed operators": lambda env: keyed(env).sum(1).key_by(lambda pair: pair[1] % 3).map(CountedMap()),
    "connect, map": lambda env: records(env).connect(others(env)).map(BothMapped()),
    "connect, flat_map": lambda env: records(env).connect(others(env)).flat_map(BothFlatMapped()),
    "connect, process": lambda env: records(env).connect(others(env)).process(BothProcessed()),
    "connect, keyed process": lambda env: records(env).connect(others(env)).key_by(0, 0).process(Matched()),
    "broadcast process": lambda env: records(env).connect(others(env).broadcast(RULES)).process(Ruled()),
    "keyed broadcast process": lambda env: keyed(env).connect(others(env).broadcast(RULES)).process(KeyedRuled()),
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
    "reduce in windows": lambda env: timed_and_keyed(env).window(TUMBLING).reduce(lambda a, b: (a[0], a[1] + b[1])),
    "aggregate in windows": lambda env: timed_and_keyed(env).window(TUMBLING).aggregate(Mean()),
    "aggregate in sessions": lambda env: (
        timed_and_keyed(env).window(EventTimeSessionWindows.with_gap(Time.milliseconds(71))).aggregate(Mean())
    ),
    "evictor": lambda env: timed_and_keyed(env).window(TUMBLING).evictor(CountEvictor.of(1)).process(Contents()),
    "late records": late_records,
}  # fmt: skip


class Labelled:
    """Says which operator a record is of; fails for one of them, when some results are published or at once."""

    def __init__(self, operator: str, directory: Path, *, at_once: bool) -> None:
        self._operator = operator
        self._directory = directory
        self._at_once = at_once

    def __call__(self, record: Any) -> str:
        is_due = self._operator == "two keyed operators" and (
            self._at_once or any((self._directory / "out").glob("*.txt"))
        )
        if is_due and not (self._directory / "power is back").exists():
            raise RuntimeError("power cut")
        return f"{self._operator}: {record}"
