"""All operators, each in a small program over a few epochs: what the tests of restarts run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from conformance.operator_inputs import OTHERS, PAIR, RECORDS, Mean, keyed, records, timed_and_keyed
from conformance.window_operators import WINDOWS
from penstock.common import Time, Types
from penstock.connectors.files import FileSource, JsonLinesFormat
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    OutputTag,
    StreamExecutionEnvironment,
)
from penstock.datastream.functions import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedBatchContext,
    KeyedBroadcastProcessFunction,
    KeyedCoBatchFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.expressions import col, explode

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


class Unreliable(AsyncFunction[Any, Any]):
    """The first call for a record fails."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.asked: set[Any] = set()

    async def async_invoke(self, value: Any) -> list[Any]:
        if value not in self.asked:
            self.asked.add(value)
            raise ConnectionError("try again")
        return [value]


ONCE_MORE = AsyncRetryStrategy.fixed_delay(2, 1, None, lambda error: isinstance(error, ConnectionError))


def waited(method: str) -> Callable[[StreamExecutionEnvironment], DataStream]:
    return lambda env: getattr(AsyncDataStream, method)(records(env), Unreliable(), Time.seconds(60), ONCE_MORE)


class NumberedByShare(MapFunction, CheckpointedFunction):
    """Every subtask gets what all have saved, and takes what is its own."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        shares = ListStateDescriptor("shares", Types.TUPLE([Types.INT(), Types.LONG()]))
        self.saved = context.get_operator_state_store().get_union_list_state(shares)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count = dict(self.saved.get()).get(self.subtask, 0)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([(self.subtask, self.count)])

    def map(self, value: Any) -> Any:
        self.count += 1
        return value, self.subtask, self.count


def doubled(batch: Any) -> Any:
    return {**batch, "f1": batch["f1"] * 2}


def totals(batch: Any, ctx: KeyedBatchContext, name: str = "total") -> Iterator[Any]:
    """The sum so far of every row's key: the same however the rows are cut into batches."""
    state = ctx.get_state(ValueStateDescriptor(name, Types.LONG()))
    sums = state.get_many(ctx.distinct_keys).fill_null(0).to_pylist()
    rows = []
    for code, number in zip(ctx.key_codes, batch["f1"], strict=True):
        sums[code] += int(number)
        rows.append(sums[code])
    state.put_many(ctx.distinct_keys, np.array(sums))
    yield {"f0": batch["f0"], "f1": np.array(rows)}


class TotalsOfBoth(KeyedCoBatchFunction):
    def process_batch1(self, batch: Any, ctx: KeyedBatchContext) -> Iterator[Any]:
        return totals(batch, ctx, "first")

    def process_batch2(self, batch: Any, ctx: KeyedBatchContext) -> Iterator[Any]:
        return totals(batch, ctx, "second")


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


class Overdue(Counted, KeyedProcessFunction):
    """A timer that is due at once, in processing time. How often it fires depends on the epochs: the first counts."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(1_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self.count() == 1:
            yield ctx.get_current_key(), timestamp


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


class CountedBoth(Counted, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value[0], self.count()

    map2 = map1


class CountedFlatBoth(Counted, CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        yield from [(value[0], self.count())] * 2

    def flat_map2(self, value: Any) -> Iterable[Any]:
        yield value[0], -self.count()


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


def files(env: StreamExecutionEnvironment) -> DataStream:
    row = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    directory = Path(env.configuration.get_string("execution.checkpointing.dir", "")).parent / "in"
    if not directory.exists():
        directory.mkdir(parents=True)
        for part in range(3):
            lines = (f'{{"k": "{k}", "n": {n}}}\n' for k, n in RECORDS[part::3])
            (directory / f"{part}.json").write_text("".join(lines))
    return env.from_source(FileSource.for_record_stream_format(JsonLinesFormat(row), str(directory)).build())


OPERATORS: dict[str, Callable[[StreamExecutionEnvironment], DataStream]] = {
    "map": lambda env: records(env).map(lambda pair: (pair[0], pair[1] + 1), PAIR),
    "flat_map": lambda env: records(env).flat_map(lambda pair: [pair] * (pair[1] % 3), PAIR),
    "filter": lambda env: records(env).filter(lambda pair: pair[1] % 3),
    "process": side_outputs,
    "project": lambda env: records(env).project(1),
    "list state of operators": lambda env: records(env).map(Numbered()),
    "union list state": lambda env: records(env).map(NumberedByShare()),
    "forward": lambda env: records(env).forward().map(lambda pair: pair, PAIR).set_parallelism(1),
    "select": lambda env: records(env).select("f0", twice=col("f1") * 2),
    "map by an expression": lambda env: records(env).map((col("f0").upper(), col("f1") + 1)),
    "filter by an expression": lambda env: records(env).filter(col("f1") % 3 > 0),
    "flat_map by an expression": lambda env: records(env).flat_map(explode(col("f0").split("k"))),
    "map_batches": lambda env: records(env).map_batches(doubled, PAIR, "numpy"),
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
    "async, ordered, with retries": waited("ordered_wait_with_retry"),
    "async, unordered, with retries": waited("unordered_wait_with_retry"),
    "keyed process_batches": lambda env: keyed(env).process_batches(totals, PAIR, "numpy"),
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
    "processing-time timers": lambda env: keyed(env).process(Overdue()),
    "two keyed operators": lambda env: keyed(env).sum(1).key_by(lambda pair: pair[1] % 3).map(CountedMap()),
    "connect, map": lambda env: records(env).connect(others(env)).map(BothMapped()),
    "connect, flat_map": lambda env: records(env).connect(others(env)).flat_map(BothFlatMapped()),
    "connect, keyed map": lambda env: records(env).connect(others(env)).key_by(0, 0).map(CountedBoth()),
    "connect, keyed flat_map": lambda env: records(env).connect(others(env)).key_by(0, 0).flat_map(CountedFlatBoth()),
    "connect, process": lambda env: records(env).connect(others(env)).process(BothProcessed()),
    "connect, keyed process": lambda env: records(env).connect(others(env)).key_by(0, 0).process(Matched()),
    "connect, process_batches": lambda env: (
        records(env).connect(others(env)).key_by(0, 0).process_batches(TotalsOfBoth(), PAIR, "numpy")
    ),
    "broadcast process": lambda env: records(env).connect(others(env).broadcast(RULES)).process(Ruled()),
    "keyed broadcast process": lambda env: keyed(env).connect(others(env).broadcast(RULES)).process(KeyedRuled()),
    **WINDOWS,
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
