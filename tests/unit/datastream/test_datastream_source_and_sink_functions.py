"""Sources and sinks as functions, on the local engine."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, RestartStrategies, Types
from penstock.common.errors import JobExecutionException, PlanError
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import (
    CheckpointedSourceFunction,
    KeyedProcessFunction,
    RichSinkFunction,
    RichSourceFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    SinkFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)

EVENTS: list[Any] = []
"""What functions of these tests saw; the local engine runs them in this process."""


@pytest.fixture(autouse=True)
def _no_events() -> None:
    EVENTS.clear()


def environment(checkpoint: Path | None = None, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    if checkpoint is not None:
        configuration.set_string("execution.checkpointing.dir", str(checkpoint))
    for key, value in options.items():
        configuration.set_string(key.replace("_", "."), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


class Numbers(SourceFunction):
    def __init__(self, count: int | None) -> None:
        self.count = count
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        number = 0
        while self.running and number != self.count:
            ctx.collect(number)
            number += 1

    def cancel(self) -> None:
        self.running = False


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_a_source_function_brings_its_records_in_order(mode: RuntimeExecutionMode) -> None:
    env = environment().set_parallelism(1).set_runtime_mode(mode)
    stream = env.add_source(Numbers(120_000), "Numbers", Types.LONG(), bounded=True)
    assert stream.get_name() == "Numbers"
    assert list(stream.execute_and_collect()) == list(range(120_000))


def test_a_source_function_without_records_ends_the_job() -> None:
    env = environment()
    env.add_source(Numbers(0)).print()
    env.execute()


def test_batch_execution_asks_for_a_source_that_ends() -> None:
    env = environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.add_source(Numbers(None)).print()
    with pytest.raises(PlanError, match=r"'Custom Source'.*never ends"):
        env.execute()


def test_a_source_function_that_never_ends_is_cancelled_with_the_job() -> None:
    env = environment()
    with env.add_source(Numbers(None), type_info=Types.LONG()).execute_and_collect() as records:
        assert [next(records) for _ in range(5)] != []
    assert not [thread for thread in threading.enumerate() if "Numbers" in thread.name]


class Lifecycle(RichSourceFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        EVENTS.append("open")

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        ctx.collect(self.get_runtime_context().get_task_name_with_subtasks())

    def cancel(self) -> None:
        EVENTS.append("cancel")

    def close(self) -> None:
        EVENTS.append("close")


def test_a_source_function_is_opened_and_closed() -> None:
    records = list(environment().add_source(Lifecycle()).execute_and_collect())
    assert records == ["Custom Source (1/1)#0"]
    assert EVENTS == ["open", "close"]


class Timed(SourceFunction):
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        for second in range(5):
            ctx.collect_with_timestamp(("k", second), second * 1000)
            ctx.emit_watermark(Watermark(second * 1000))

    def cancel(self) -> None: ...


class Alarm(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1500)
        yield f"record {value[1]} at {ctx.timestamp()} after {ctx.timer_service().current_watermark()}"

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"timer {timestamp}"


def test_timestamps_and_watermarks_of_a_source_function_are_event_time() -> None:
    stream = environment().add_source(Timed(), type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    lines = list(stream.key_by("f0").process(Alarm()).execute_and_collect())
    assert lines[1:5] == [
        "record 1 at 1000 after 0",
        "record 2 at 2000 after 1000",
        "timer 1500",
        "record 3 at 3000 after 2000",
    ]
    assert lines[-2:] == ["timer 4500", "timer 5500"]


class Failing(SourceFunction):
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        ctx.collect(1)
        raise OSError("the line is dead")

    def cancel(self) -> None: ...


def test_a_failure_of_a_source_function_fails_the_job() -> None:
    env = environment()
    env.add_source(Failing()).print()
    with pytest.raises(JobExecutionException) as failure:
        env.execute()
    assert "the line is dead" in str(failure.value)
    assert "in run" in str(failure.value)
    assert "operator: Custom Source" in str(failure.value)
    assert f"defined at: {__file__}:" in str(failure.value)


def test_a_record_of_another_type_is_named() -> None:
    env = environment()
    env.add_source(Numbers(3), type_info=Types.STRING()).print()
    with pytest.raises(JobExecutionException, match="record: 0"):
        env.execute()


class Resuming(CheckpointedSourceFunction):
    """Emits 0 to 99 and fails once, in the middle, whoever runs it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker
        self.next = 0
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        EVENTS.append(("from", self.next))
        while self.running and self.next < 100:
            if self.next == 60 and not self.marker.exists():
                self.marker.touch()
                raise OSError("lost")
            with ctx.get_checkpoint_lock():
                self.next += 1
                ctx.collect(("k", self.next - 1))

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self) -> int:
        return self.next

    def restore_state(self, state: int) -> None:
        self.next = state


def test_a_checkpointed_source_goes_on_where_it_was(tmp_path: Path) -> None:
    def total(env: StreamExecutionEnvironment) -> list[Any]:
        stream = env.add_source(Resuming(tmp_path / "marker"), type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
        totals = stream.key_by("f0").sum(1)
        return [value for _, value in totals.execute_and_collect()]

    options = {"execution_epoch_max-records": "7"}
    with pytest.raises(JobExecutionException, match="lost"):
        total(environment(tmp_path / "checkpoint", **options))
    rest = total(environment(tmp_path / "checkpoint", **options))
    assert rest[-1] == sum(range(100))
    (_, first), (_, resumed) = EVENTS
    assert first == 0
    assert 0 < resumed <= 60


def test_a_restart_strategy_lets_the_job_go_on_in_the_same_run(tmp_path: Path) -> None:
    env = environment(**{"execution_epoch_max-records": "7"})
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    stream = env.add_source(Resuming(tmp_path / "marker"), type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    totals = [value for _, value in stream.key_by("f0").sum(1).execute_and_collect()]
    assert totals[-1] == sum(range(100))
    assert len(EVENTS) == 2


class FailTwice:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, value: int) -> int:
        failures = len(list(self.directory.iterdir()))
        if value == 25 and failures < 2:
            (self.directory / str(failures)).touch()
            raise ValueError("not yet")
        return value


@pytest.mark.parametrize(("attempts", "succeeds"), [(1, False), (2, True)])
def test_a_failing_function_is_tried_as_often_as_the_strategy_says(
    tmp_path: Path, attempts: int, succeeds: bool
) -> None:
    env = environment(**{"execution_epoch_max-records": "10"})
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(attempts, 0))
    records = env.from_sequence(1, 40).map(FailTwice(tmp_path), Types.LONG()).execute_and_collect()
    if succeeds:
        assert sorted(records) == list(range(1, 41))
    else:
        with pytest.raises(JobExecutionException, match="not yet"):
            list(records)


class Recorder(RichSinkFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        EVENTS.append("open")

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        assert context.current_processing_time() > 0
        EVENTS.append((value, context.timestamp(), self.get_runtime_context().get_number_of_parallel_subtasks()))

    def flush(self) -> None:
        EVENTS.append("flush")

    def close(self) -> None:
        EVENTS.append("close")


def test_a_sink_function_is_opened_once_flushed_every_epoch_and_closed() -> None:
    env = environment(**{"execution_epoch_max-records": "2"})
    env.from_collection([1, 2, 3]).add_sink(Recorder()).set_parallelism(1)
    env.execute()
    assert EVENTS == ["open", (1, None, 1), (2, None, 1), "flush", (3, None, 1), "flush", "close"]


class Refusing(SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        raise ValueError("not this one")


def test_a_failure_of_a_sink_function_names_the_record() -> None:
    env = environment()
    env.from_collection([7]).add_sink(Refusing()).name("Refusing").uid("refusing")
    with pytest.raises(JobExecutionException, match=r"(?s)not this one.*the record was 7.*uid: refusing"):
        env.execute()
