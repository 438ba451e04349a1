"""The source and the clock that tests script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import ArgumentError, ConfigurationError, JobExecutionException
from penstock.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import (
    ScriptedSource,
    VirtualClock,
    assert_stream_equal,
    fail,
    local_environment,
    pause,
    record,
    watermark,
)


def options(**settings: str) -> Configuration:
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name.replace("__", ".").replace("_", "-"), value)
    return configuration


def seconds(stream: Any) -> Any:
    return stream.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of("1 s")).sum(1)


class Times(ProcessFunction):
    """Each record with its timestamp, the watermark and the clock."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        timer_service = ctx.timer_service()
        yield value, ctx.timestamp(), timer_service.current_watermark(), timer_service.current_processing_time()


MIN = -(1 << 63)


def test_watermarks_are_between_the_records_where_the_script_has_them() -> None:
    source = ScriptedSource(
        [record("a", 1), watermark(1), record("b", 2), watermark(2), watermark(5), record("late", 3), record("bare")]
    )
    seen = local_environment().from_source(source).process(Times()).execute_and_collect()
    assert list(seen) == [("a", 1, MIN, 0), ("b", 2, 1, 0), ("late", 3, 5, 0), ("bare", None, 5, 0)]


@pytest.mark.parametrize("max_records", ["1", "100"])
@pytest.mark.parametrize("parallelism", [1, 2])
def test_every_split_has_its_own_watermark(max_records: str, parallelism: int) -> None:
    fast = [record(("a", 1), 500), watermark(10_000), record(("a", 7), 10_100)]
    slow = [pause("1 min"), record(("a", 2), 600), watermark(700), record(("a", 3), 800), watermark(900)]
    env = local_environment(options(execution__epoch__max_records=max_records), parallelism=parallelism)
    assert_stream_equal(
        seconds(env.from_source(ScriptedSource(fast, slow))).execute_and_collect(), [("a", 6), ("a", 7)]
    )


def test_a_strategy_makes_its_own_watermarks_and_idleness() -> None:
    busy = [record(("a", 1), 500), record(("a", 2), 5_000), pause("1 min"), record(("late", 9), 100)]
    silent = [pause("1 h")]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness("30 s")
    env = local_environment(options(execution__epoch__max_records="2"))
    assert_stream_equal(
        seconds(env.from_source(ScriptedSource(busy, silent), strategy)).execute_and_collect(), [("a", 1), ("a", 2)]
    )


def test_pauses_pass_on_the_virtual_clock() -> None:
    clock = VirtualClock(1_000)
    source = ScriptedSource([pause("10 s"), record("a"), pause("5 s"), pause("1 s"), record("b"), pause("10 s")])
    seen = local_environment(clock=clock).from_source(source).process(Times()).execute_and_collect()
    assert [(value, now) for value, _, _, now in seen] == [("a", 11_000), ("b", 17_000)]
    assert clock.now() == 27_000


class Alarm(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 60_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


def test_timers_of_processing_time_fire_at_their_time_on_the_virtual_clock() -> None:
    source = ScriptedSource([record("a"), pause("90 s"), record("b"), pause("2 min")])
    alarms = local_environment().from_source(source).key_by(lambda v: v).process(Alarm())
    assert list(alarms.execute_and_collect()) == [("a", 60_000), ("b", 150_000)]


def test_batch_execution_reads_the_records_alone() -> None:
    source = ScriptedSource([record(("a", 1), 500), watermark(9_000), pause("1 h"), record(("a", 2), 600)])
    clock = VirtualClock()
    env = local_environment(options(execution__runtime_mode="BATCH"), clock=clock)
    assert list(seconds(env.from_source(source)).execute_and_collect()) == [("a", 3)]
    assert clock.now() == 0


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_failure_is_survived_by_a_restart_strategy(mode: str) -> None:
    restarting = options(restart_strategy__type="fixed-delay", restart_strategy__fixed_delay__attempts="2")
    restarting.set_string("execution.runtime-mode", mode)
    source = ScriptedSource([record(("a", 1), 500), fail(times=2), record(("a", 2), 600)])
    assert list(seconds(local_environment(restarting).from_source(source)).execute_and_collect()) == [("a", 3)]


def test_what_was_collected_before_a_failure_does_not_come_again() -> None:
    restarting = options(restart_strategy__type="fixed-delay", execution__epoch__max_records="2")
    script = [*(record(number) for number in range(5)), fail(), *(record(number) for number in range(5, 8))]
    stream = local_environment(restarting).from_source(ScriptedSource(script, type_info=Types.LONG()))
    assert list(stream.map(lambda number: number, Types.LONG()).execute_and_collect()) == list(range(8))


def test_a_failure_ends_a_job_which_then_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    def run() -> list[Any]:
        configuration = options(execution__checkpointing__dir=str(tmp_path), execution__epoch__max_records="1")
        source = ScriptedSource([record(("a", 1), 500), fail(), record(("a", 2), 600)])
        return list(seconds(local_environment(configuration).from_source(source)).execute_and_collect())

    with pytest.raises(JobExecutionException, match="step 1 of split 0 fails, as the script says"):
        run()
    assert run() == [("a", 3)]


def test_records_of_a_declared_type() -> None:
    source = ScriptedSource([record(("a", 1)), record(("b", 2))], type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    env = local_environment()
    stream = env.from_source(source)
    assert stream.get_type() == Types.TUPLE([Types.STRING(), Types.INT()])
    assert list(stream.execute_and_collect()) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: record("a", 1.5), ArgumentError, "timestamp is 1.5; expected whole milliseconds"),
        (lambda: watermark(None), ArgumentError, "timestamp is None"),
        (lambda: record("a", float("nan")), ArgumentError, "record: timestamp is nan; expected whole milliseconds"),
        (lambda: watermark(1 << 63), ArgumentError, "watermark: timestamp is 9223372036854775808"),
        (lambda: pause("soon"), ConfigurationError, "soon"),
        (lambda: fail(0), ArgumentError, "times is 0"),
        (lambda: ScriptedSource(["a"]), ArgumentError, "split 0 has the step 'a'; expected record"),
        (
            lambda: ScriptedSource([watermark(9)], [watermark(3), record("a", 1), watermark(3), watermark(2)]),
            ArgumentError,
            r"split 1 has watermark\(2\) behind watermark\(3\)",
        ),
        (lambda: local_environment(clock=5), ArgumentError, "clock is 5; expected a VirtualClock"),
    ],
)
def test_mistakes_are_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_environment_is_local_and_streams() -> None:
    env = local_environment(parallelism=3)
    assert isinstance(env, StreamExecutionEnvironment)
    assert env.get_parallelism() == 3
    seen: list[Any] = list(
        env.from_collection([("a", 1), ("a", 2)]).key_by(lambda v: v[0]).sum(1).execute_and_collect()
    )
    assert seen == [("a", 1), ("a", 3)]
