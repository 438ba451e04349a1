"""What only batch execution does: keyed inputs are sorted, a key ends, and event time begins and ends with it.

The values are what Flink's batch execution gives: orders and watermarks were looked up by running the same programs
under PyFlink 2.3, timers at the end of a key in Flink's own timer service (PyFlink runs ahead of it there).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionException, PlanError
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.functions import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

BATCH_ON_BOTH = pytest.mark.parametrize(
    "engine_and_mode",
    [
        pytest.param(("local", "BATCH"), id="local"),
        pytest.param(("spark", "BATCH"), id="spark", marks=pytest.mark.spark),
    ],
    indirect=True,
)
BATCH_LOCALLY = pytest.mark.parametrize("engine_and_mode", [("local", "BATCH")], ids=["local"], indirect=True)

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
EVENTS = [("b", 30), ("a", 20), ("b", 10), ("c", 1), ("a", 15), ("b", 10)]
MIN, MAX = -(1 << 63), (1 << 63) - 1
AN_HOUR = 3_600_000


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())


class Trace(KeyedProcessFunction):
    """Tells all it sees. Its timers set others, for ever: at the end of a key nobody listens to that."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        time = ctx.timer_service()
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count, ctx.timestamp(), time.current_watermark()
        time.register_event_time_timer(value[1] + 100)
        time.register_event_time_timer(5)
        time.register_processing_time_timer(time.current_processing_time() + AN_HOUR)
        time.register_processing_time_timer(7)
        time.delete_event_time_timer(101)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        time = ctx.timer_service()
        shown = "later" if timestamp > AN_HOUR else timestamp
        domain = ctx.time_domain().name.split("_")[0].lower()
        yield f"{domain} timer", ctx.get_current_key(), shown, self.count.value(), time.current_watermark()
        time.register_event_time_timer(timestamp + 1000)
        time.register_processing_time_timer(timestamp + 1000)


def timers(key: str, count: int, *event_times: int) -> list[Any]:
    return [
        *(("event timer", key, time, count, MAX) for time in event_times),
        ("processing timer", key, 7, count, MAX),
        ("processing timer", key, "later", count, MAX),
    ]


@BATCH_ON_BOTH
def test_records_come_key_by_key_in_time_order_and_timers_fire_when_a_key_ends(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    stream = env.from_collection(EVENTS, PAIR).assign_timestamps_and_watermarks(TIMED)
    results = list(stream.key_by(lambda e: e[0]).process(Trace()).execute_and_collect())
    assert results == [
        (("a", 15), 1, 15, MIN),
        (("a", 20), 2, 20, MIN),
        *timers("a", 2, 5, 115, 120),
        (("b", 10), 1, 10, MIN),
        (("b", 10), 2, 10, MIN),
        (("b", 30), 3, 30, MIN),
        *timers("b", 3, 5, 110, 130),
        (("c", 1), 1, 1, MIN),
        *timers("c", 1, 5),
    ]


@BATCH_LOCALLY
def test_without_timestamps_the_records_of_a_key_stay_as_they_come(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    traced = env.from_collection(EVENTS, PAIR).key_by(lambda e: e[0]).process(Trace())
    records = [result[0] for result in traced.execute_and_collect() if len(result) == 4]
    assert records == [("a", 20), ("a", 15), ("b", 30), ("b", 10), ("b", 10), ("c", 1)]


class BothSides(KeyedCoProcessFunction):
    """What a key has seen, at its end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def process_element1(self, value: tuple[str, int], ctx: Any) -> None:
        self.seen.add(f"left {value[1]}")
        ctx.timer_service().register_event_time_timer(0)

    def process_element2(self, value: tuple[str, int], ctx: Any) -> None:
        self.seen.add(f"right {value[1]}")
        ctx.timer_service().register_event_time_timer(0)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), list(self.seen.get())


LEFT = [("a", 1), ("b", 5), ("a", 4), ("a", 2)]
RIGHT = [("a", 3), ("c", 1), ("b", 2), ("a", 1)]


@BATCH_ON_BOTH
@pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
def test_two_keyed_inputs_are_merged_by_key_and_time(env: StreamExecutionEnvironment, timed: bool) -> None:
    sides = [env.from_collection(side, PAIR) for side in (LEFT, RIGHT)]
    if timed:
        sides = [side.assign_timestamps_and_watermarks(TIMED) for side in sides]
    left, right = (side.key_by(lambda e: e[0]) for side in sides)
    results = dict(left.connect(right).process(BothSides()).execute_and_collect())
    if timed:
        assert results["a"] == ["left 1", "right 1", "left 2", "right 3", "left 4"]
        assert results["b"] == ["right 2", "left 5"]
    else:
        assert results["a"] == ["left 1", "left 4", "left 2", "right 3", "right 1"]
        assert results["b"] == ["left 5", "right 2"]
    assert results["c"] == ["right 1"]


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class UnderRules(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield "rule", value, ctx.current_watermark()


@BATCH_LOCALLY
def test_the_broadcast_side_comes_whole_and_stays_when_keys_go(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    rules = env.from_collection([("limit", 1), ("limit", 2), ("x", 9)], PAIR).broadcast(RULES)
    keyed = env.from_collection(EVENTS, PAIR).key_by(lambda e: e[0])
    all_rules = [("limit", 2), ("x", 9)]
    assert list(keyed.connect(rules).process(UnderRules()).execute_and_collect()) == [
        ("rule", ("limit", 1), MIN),
        ("rule", ("limit", 2), MIN),
        ("rule", ("x", 9), MIN),
        (("a", 20), 1, all_rules),
        (("a", 15), 2, all_rules),
        (("b", 30), 1, all_rules),
        (("b", 10), 2, all_rules),
        (("b", 10), 3, all_rules),
        (("c", 1), 1, all_rules),
    ]


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp()


@BATCH_LOCALLY
def test_the_result_of_a_key_has_the_last_of_all_timestamps(env: StreamExecutionEnvironment) -> None:
    sums = env.from_collection(EVENTS, PAIR).key_by(lambda e: e[0]).sum(1).process(Stamped())
    assert sorted(sums.execute_and_collect()) == [(("a", 35), MAX), (("b", 50), MAX), (("c", 1), MAX)]


@BATCH_LOCALLY
def test_a_batch_is_one_epoch_whatever_an_epoch_may_read(env: StreamExecutionEnvironment) -> None:
    env.configuration.set_string("execution.epoch.max-records", "10")
    env.from_sequence(1, 1_000).key_by(lambda n: n % 7).sum().print()
    result = env.execute().get_all_accumulator_results()
    assert result["epochs"] == 1
    assert result["records_read"] == 1_000
    assert result["state_bytes_written"] == 0


def local_environment(tmp_path: Path, mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_runtime_mode(mode)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(RuntimeExecutionMode.AUTOMATIC, [2, 4]), (RuntimeExecutionMode.STREAMING, [1, 2, 4])],
    ids=["automatic", "streaming"],
)
def test_automatic_is_batch_when_all_sources_end(
    tmp_path: Path, mode: RuntimeExecutionMode, expected: list[int]
) -> None:
    env = local_environment(tmp_path, mode)
    assert sorted(env.from_collection([1, 3, 2]).key_by(lambda n: n % 2).sum().execute_and_collect()) == expected


def test_a_source_without_an_end_makes_automatic_streaming_and_is_refused_as_batch(tmp_path: Path) -> None:
    def program(mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        env = local_environment(tmp_path, mode)
        env.from_source(DataGeneratorSource(lambda n: n, type_info=Types.LONG())).key_by(lambda n: n).sum().print()
        return env

    assert "sorted by key" not in program(RuntimeExecutionMode.AUTOMATIC).explain()
    with pytest.raises(PlanError, match="never ends"):
        program(RuntimeExecutionMode.BATCH).execute()


def test_a_checkpoint_of_the_other_mode_is_refused(tmp_path: Path) -> None:
    def run(mode: RuntimeExecutionMode) -> None:
        env = local_environment(tmp_path, mode)
        env.from_collection([1, 3, 2]).key_by(lambda n: n % 2).sum().print()
        env.execute()

    run(RuntimeExecutionMode.STREAMING)
    with pytest.raises(JobExecutionException, match="execution: the checkpoint has 'streaming', the program 'batch'"):
        run(RuntimeExecutionMode.BATCH)
