"""Programs that change between two runs: their state, their uids, what they start from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.common.errors import CheckpointError, ConfigurationError, JobExecutionException, UnsupportedError
from penstock.connectors.files import FileSink, FileSource, TextLineFormat
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedBatchContext, KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.engine.epochs.job_snapshot import SavepointSnapshot
from penstock.engine.epochs.restore import StateRestore
from penstock.engine.epochs.upgrade import Outcome
from penstock.engine.stages.compiled import CompiledJob, compile_plan
from penstock.expressions import count, window_end
from penstock.optimizer.pipeline import optimize
from penstock.state import Savepoint, migrate
from penstock.state.savepoints.header import SourceDescription
from penstock.state.storage import open_storage
from penstock.testing.memory_sink import MemorySink
from savepoints.ledger_job import AtEpoch, published


@dataclass
class Total:
    amount: int


@dataclass
class RenamedTotal:
    amount: int
    currency: str = "EUR"


class Sum(KeyedProcessFunction):
    def __init__(self, descriptor: ValueStateDescriptor) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(self.descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        before = self.state.value()
        self.state.update(Total(value) if before is None else replace(before, amount=before.amount + value))
        yield self.state.value()


class InCents(Sum):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.state.update(self.state.value() + value * 100)
        yield self.state.value()


def environment(directory: Path, function: Any, parallelism: int, sink: MemorySink, **options: Any) -> Any:
    configuration = Configuration()
    settings = {
        "execution.engine": "local",
        "execution.checkpointing.dir": str(directory),
        "execution.epoch.max-records": "10",
    }
    for key, value in (settings | options).items():
        configuration.set_string(key, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)
    numbers = env.from_collection(list(range(100)), Types.LONG()).uid("numbers")
    numbers.key_by(lambda n: n % 5, Types.LONG()).process(function).uid("sum").sink_to(sink).uid("sink")
    return env


def stopped(tmp_path: Path, function: Any) -> str:
    hook = AtEpoch(4)
    env = environment(tmp_path / "first", function, 2, MemorySink())
    hook.run(env.execute_async, lambda client: client.stop_with_savepoint(False, str(tmp_path / "savepoints")))
    return hook.result.result()


TOTAL = ValueStateDescriptor("total", Total)


def last_of_each_key(sink: MemorySink, amount: Any) -> list[int]:
    return sorted(amount(value) for value in sink.records)[-5:]


def test_a_class_with_a_new_field_takes_up_the_state(tmp_path: Path) -> None:
    savepoint = stopped(tmp_path, Sum(TOTAL))
    sink = MemorySink()
    newer = Sum(ValueStateDescriptor("total", RenamedTotal))
    env = environment(tmp_path / "second", newer, 3, sink, **{"execution.savepoint.path": savepoint})
    report = env.check_upgrade(savepoint)
    assert report.is_possible
    assert [(item.state, item.outcome) for item in report.items if item.state] == [("total", Outcome.MIGRATED)]
    env.execute()
    assert all(value.currency == "EUR" for value in sink.records)
    sums = [sum(range(key, 100, 5)) for key in range(5)]
    assert last_of_each_key(sink, lambda value: value.amount) == sorted(sums)


def test_a_migration_takes_up_the_state(tmp_path: Path) -> None:
    @migrate(1, 2)
    def in_cents(old: Any) -> int:
        return old.amount * 100

    savepoint = stopped(tmp_path, Sum(TOTAL))
    sink = MemorySink()
    newer = InCents(ValueStateDescriptor("total", int).with_version(2, in_cents))
    environment(tmp_path / "second", newer, 1, sink, **{"execution.savepoint.path": savepoint}).execute()
    sums = [100 * sum(range(key, 100, 5)) for key in range(5)]
    assert last_of_each_key(sink, lambda value: value) == sorted(sums)


def test_a_restart_of_the_own_checkpoint_converts_too(tmp_path: Path) -> None:
    env = environment(tmp_path, Sum(TOTAL), 2, MemorySink())
    AtEpoch(4).run(env.execute_async, lambda client: client.cancel())
    sink = MemorySink()
    environment(tmp_path, Sum(ValueStateDescriptor("total", RenamedTotal)), 2, sink).execute()
    sums = [sum(range(key, 100, 5)) for key in range(5)]
    assert last_of_each_key(sink, lambda value: value.amount) == sorted(sums)


def test_state_that_was_made_of_a_table(tmp_path: Path) -> None:
    rows = [{"key": key, "amount": 1000 * key} for key in range(5)]
    made = Savepoint.new().with_state("sum", TOTAL, rows).write(str(tmp_path / "made"))
    sink = MemorySink()
    options = {"execution.savepoint.path": made.path}
    environment(tmp_path / "job", Sum(TOTAL), 3, sink, **options).execute()
    sums = {1000 * key + sum(range(key, 100, 5)) for key in range(5)}
    assert sums <= {value.amount for value in sink.records}


def test_another_kind_of_operator_or_source_is_refused(tmp_path: Path) -> None:
    savepoint = stopped(tmp_path, Sum(TOTAL))
    env = environment(tmp_path / "second", Sum(TOTAL), 2, MemorySink())
    assert env.check_upgrade(savepoint).is_possible
    configuration = Configuration().set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    env.from_sequence(1, 3).uid("numbers").map(lambda n: n).uid("sum").print()
    report = env.check_upgrade(savepoint)
    refused = {item.uid: item.reason for item in report.of(Outcome.REFUSED)}
    assert "positions do not fit" in refused["numbers"]
    assert "it was a KeyedProcess and is a " in refused["sum"]


def job_of(env: Any) -> CompiledJob:
    return compile_plan(optimize(env.get_plan("job")))


def test_a_source_goes_on_with_other_options(tmp_path: Path) -> None:
    """It watches a directory, two lines an epoch; after the restart it reads to the end, all in one epoch."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("a\nb\nc\nd\n")

    def copying(directory: str, options: dict[str, str], **of_source: str) -> Any:
        configuration = Configuration().set_string("execution.engine", "local")
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / directory))
        for key, value in options.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
        lines = env.from_source(FileSource(str(tmp_path / "in"), TextLineFormat(), **of_source), None, "lines")
        lines.uid("lines").sink_to(FileSink(str(tmp_path / "out"), "text")).uid("sink")
        return env

    hook = AtEpoch(1)
    env = copying("first", {"execution.epoch.max-records": "2"}, watch="10 ms", settle="0 ms")
    hook.run(env.execute_async, lambda client: client.stop_with_savepoint(False, str(tmp_path / "savepoints")))
    assert 0 < published(tmp_path / "out").total() <= 4
    (tmp_path / "in" / "2.txt").write_text("e\n")
    copying("second", {"execution.savepoint.path": hook.result.result()}).execute()
    assert sorted(published(tmp_path / "out").elements()) == ["a", "b", "c", "d", "e"]


def test_a_data_frame_in_another_checkpoint_is_refused(tmp_path: Path) -> None:
    savepoint = stopped(tmp_path, Sum(TOTAL))
    snapshot = SavepointSnapshot(open_storage(savepoint))
    source = SourceDescription(state={"file:/somewhere/dataframes/uid-x/rows/part-0.parquet": [0, 1, 0]})
    snapshot.header = replace(snapshot.header, sources={"numbers": source})
    job = job_of(environment(tmp_path / "second", Sum(TOTAL), 2, MemorySink()))
    with pytest.raises(CheckpointError, match="whose rows are in the checkpoint of the other job"):
        StateRestore(snapshot, job, allow_non_restored_state=False).stores()
    snapshot.is_own = True
    assert StateRestore(snapshot, job, allow_non_restored_state=False).stores()


def test_batch_execution_takes_up_nothing_and_has_no_savepoints(tmp_path: Path) -> None:
    savepoint = stopped(tmp_path, Sum(TOTAL))
    options = {"execution.runtime-mode": "BATCH"}
    env = environment(tmp_path / "second", Sum(TOTAL), 2, MemorySink(), **options)
    client = env.execute_async()
    with pytest.raises(UnsupportedError, match="batch"):
        client.trigger_savepoint(str(tmp_path))
    client.wait()
    env = environment(
        tmp_path / "third", Sum(TOTAL), 2, MemorySink(), **options, **{"execution.savepoint.path": savepoint}
    )
    with pytest.raises(JobExecutionException, match="batch execution takes up no state"):
        env.execute()


def test_a_savepoint_needs_a_directory(tmp_path: Path) -> None:
    client = environment(tmp_path, Sum(TOTAL), 1, MemorySink()).execute_async()
    with pytest.raises(ConfigurationError, match="savepoint-dir"):
        client.stop_with_savepoint(False)
    client.wait()


def test_a_savepoint_that_cannot_be_written_does_not_stop_the_job(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    hook = AtEpoch(3)
    env = environment(tmp_path / "job", Sum(TOTAL), 1, MemorySink())
    client = hook.run(env.execute_async, lambda client: client.stop_with_savepoint(False, str(tmp_path / "file")))
    assert isinstance(hook.result.exception(), CheckpointError)
    assert client.metrics()["records_read"] == 100


def test_what_operators_have_counted_goes_on_from_a_savepoint(tmp_path: Path) -> None:
    savepoint = Savepoint.load(stopped(tmp_path, Sum(TOTAL))).rename_uid("sink", "other").write(str(tmp_path / "s"))
    assert 0 < savepoint.records_read < 100
    options = {"execution.savepoint.path": savepoint.path, "execution.savepoint.ignore-unclaimed-state": "true"}
    client = environment(tmp_path / "second", Sum(TOTAL), 3, MemorySink(), **options).execute_async()
    client.wait()
    counts = client.metrics()["operators"]
    assert counts["sum"] == {"in": 100, "out": 100}
    assert counts["sink"]["in"] == 100 - savepoint.records_read, "it has another uid in the savepoint"
    assert "other" not in counts


@pytest.mark.parametrize(
    ("first", "disabled", "second", "reason"),
    [
        (SlidingEventTimeWindows.of(10, 5), "reduce-in-columns", SlidingEventTimeWindows.of(10, 5), "they overlap"),
        (TumblingEventTimeWindows.of(10), "reduce-in-columns", TumblingEventTimeWindows.of(15), "is none of"),
        (TumblingEventTimeWindows.of(10), "", TumblingEventTimeWindows.of(15), "were those of"),
        (TumblingEventTimeWindows.of(10), "", EventTimeSessionWindows.with_gap(10), "were no sessions"),
    ],
)
def test_open_windows_that_cannot_be_gone_on_with_are_refused_as_foretold(
    first: Any, disabled: str, second: Any, reason: str, tmp_path: Path
) -> None:
    def summing(windows: Any, disabled: str) -> Any:
        configuration = Configuration().set_string("execution.engine", "local")
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
        configuration.set_string("execution.runtime-mode", "STREAMING")
        configuration.set_string("execution.epoch.max-records", "20")
        configuration.set_string("optimizer.disabled-rules", disabled)
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        rows = [(number % 3, number) for number in range(200)]
        pairs = env.from_collection(rows, Types.TUPLE([Types.LONG(), Types.LONG()])).uid("pairs")
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("f1")
        keyed = pairs.assign_timestamps_and_watermarks(strategy).uid("timed").key_by("f0")
        sums = keyed.window(windows).sum("f1").uid("sums").map(str, Types.STRING())
        sums.sink_to(FileSink(str(tmp_path / "out"), "text")).uid("sink")
        return env

    AtEpoch(4).run(summing(first, disabled).execute_async, lambda client: client.cancel())
    assert summing(first, disabled).check_upgrade(str(tmp_path / "checkpoint")).is_possible
    env = summing(second, "")
    refused = env.check_upgrade(str(tmp_path / "checkpoint")).of(Outcome.REFUSED)
    assert [item.uid for item in refused] == ["sums"]
    assert reason in refused[0].reason
    with pytest.raises(JobExecutionException, match=reason):
        env.execute()


def summed_in_batches(batch: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.RecordBatch:
    state = ctx.get_state(ValueStateDescriptor("sum", Types.LONG()))
    before = state.get_many(ctx.distinct_keys).fill_null(0).to_numpy()
    sums = before + np.bincount(ctx.key_codes, weights=batch["number"]).astype(np.int64)
    state.put_many(ctx.distinct_keys, sums)
    return pa.record_batch({"key": ctx.distinct_keys, "number": sums})


class Summed(KeyedProcessFunction):
    def __init__(self, *, with_timers: bool = False) -> None:
        self.with_timers = with_timers

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        self.state.update((self.state.value() or 0) + value.number)
        if self.with_timers:
            ctx.timer_service().register_event_time_timer(1_000)
        yield Row(key=value.key, number=self.state.value())


def summing(directory: Path, function: Any, **options: str) -> Any:
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.epoch.max-records", "20")
    for key, value in options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    record = Types.ROW_NAMED(["key", "number"], [Types.LONG(), Types.LONG()])
    keyed = env.from_collection([Row(key=n % 3, number=n) for n in range(100)], record).uid("numbers").key_by("key")
    sums = keyed.process(function, record) if isinstance(function, Summed) else keyed.process_batches(function, record)
    sums.uid("sums").map(str, Types.STRING()).sink_to(FileSink(str(directory / "out"), "text")).uid("sink")
    return env


@pytest.mark.parametrize(("first", "second"), [(Summed(), summed_in_batches), (summed_in_batches, Summed())])
def test_a_function_of_batches_goes_on_with_the_state_of_one_of_records_and_back(
    first: Any, second: Any, tmp_path: Path
) -> None:
    AtEpoch(3).run(summing(tmp_path, first).execute_async, lambda client: client.cancel())
    env = summing(tmp_path, second)
    assert env.check_upgrade(str(tmp_path / "checkpoint")).is_possible
    env.execute()
    for key in range(3):
        assert str(Row(key=key, number=sum(range(key, 100, 3)))) in published(tmp_path / "out")


def test_timers_are_not_left_to_a_function_of_batches(tmp_path: Path) -> None:
    first = summing(tmp_path, Summed(with_timers=True))
    AtEpoch(3).run(first.execute_async, lambda client: client.stop_with_savepoint(False, str(tmp_path / "savepoints")))
    (savepoint,) = (tmp_path / "savepoints").iterdir()
    env = summing(tmp_path, summed_in_batches)
    for place in (savepoint, tmp_path / "checkpoint"):
        (refused,) = env.check_upgrade(str(place)).of(Outcome.REFUSED)
        assert "it was a KeyedProcess with timers" in refused.reason
    with pytest.raises(JobExecutionException, match="it was a KeyedProcess with timers"):
        env.execute()


def test_another_number_of_key_groups_is_refused_by_a_checkpoint_as_foretold(tmp_path: Path) -> None:
    AtEpoch(3).run(summing(tmp_path, Summed()).execute_async, lambda client: client.cancel())
    env = summing(tmp_path, Summed()).set_max_parallelism(64)
    (refused,) = env.check_upgrade(str(tmp_path / "checkpoint")).of(Outcome.REFUSED)
    assert (refused.uid, refused.state) == ("sums", None)
    with pytest.raises(JobExecutionException, match="'sums' had max parallelism 128 and now has 64") as failure:
        env.execute()
    assert refused.reason in str(failure.value)


def test_a_stream_takes_up_nothing_from_a_batch(tmp_path: Path) -> None:
    summing(tmp_path / "batch", Summed(), **{"execution.runtime-mode": "BATCH"}).execute()
    batch = str(tmp_path / "batch" / "checkpoint")
    env = summing(tmp_path / "stream", Summed(), **{"execution.savepoint.path": batch})
    (refused,) = env.check_upgrade(batch).of(Outcome.REFUSED)
    with pytest.raises(JobExecutionException, match="batch execution has kept no state") as failure:
        env.execute()
    assert refused.reason in str(failure.value)


def test_statements_in_another_order_find_event_time_where_it_was(tmp_path: Path) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
    rows = [Row(key=number % 3, at=number) for number in range(200)]

    def counting(directory: str, sizes: tuple[int, int]) -> Any:
        configuration = Configuration().set_string("execution.engine", "local")
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / directory / "checkpoint"))
        configuration.set_string("execution.runtime-mode", "STREAMING")
        configuration.set_string("execution.epoch.max-records", "20")
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        numbers = env.from_collection(rows, Types.ROW_NAMED(["key", "at"], [Types.LONG(), Types.LONG()])).uid("rows")
        timed = numbers.assign_timestamps_and_watermarks(strategy).uid("timed")
        for size in sizes:
            windows = timed.key_by("key").window(TumblingEventTimeWindows.of(size))
            counts = windows.aggregate(end=window_end(), n=count()).uid(f"count in {size}")
            counts.map(str, Types.STRING()).sink_to(FileSink(str(tmp_path / directory / "out"), "text")).uid(str(size))
        return env

    AtEpoch(4).run(counting("changed", (10, 25)).execute_async, lambda client: client.cancel())
    counting("changed", (25, 10)).execute()
    counting("same", (10, 25)).execute()
    assert published(tmp_path / "changed" / "out") == published(tmp_path / "same" / "out")


def test_lists_of_no_declared_type_are_taken_up(tmp_path: Path) -> None:
    class Hold(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.held = runtime_context.get_list_state(ListStateDescriptor("held"))

        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            self.held.add({"value": value})
            yield len(list(self.held.get()))

    savepoint = stopped(tmp_path, Hold())
    sink = MemorySink()
    environment(tmp_path / "second", Hold(), 3, sink, **{"execution.savepoint.path": savepoint}).execute()
    assert sorted(sink.records)[-5:] == [20] * 5


def counting_by(key: Any, key_type: Any, directory: Path, sink: MemorySink, **options: str) -> Any:
    class Count(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
            self.state.update((self.state.value() or 0) + 1)
            yield self.state.value()

    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.checkpointing.dir", str(directory))
    configuration.set_string("execution.epoch.max-records", "10")
    for name, value in options.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    numbers = env.from_collection(list(range(100)), Types.LONG()).uid("numbers")
    numbers.key_by(key, key_type).process(Count(), Types.LONG()).uid("count").sink_to(sink).uid("sink")
    return env


def test_keys_of_another_type_are_refused_as_foretold_since_they_would_begin_anew(tmp_path: Path) -> None:
    before = counting_by(lambda n: n % 5, Types.LONG(), tmp_path / "first", MemorySink())
    hook = AtEpoch(4)
    hook.run(before.execute_async, lambda client: client.stop_with_savepoint(False, str(tmp_path / "savepoints")))
    savepoint = hook.result.result()
    for directory, options in (("first", {}), ("second", {"execution.savepoint.path": savepoint})):
        env = counting_by(lambda n: str(n % 5), Types.STRING(), tmp_path / directory, MemorySink(), **options)
        (item,) = env.check_upgrade(savepoint).of(Outcome.REFUSED)
        assert (item.uid, item.reason) == (
            "count",
            "its keys were Long and are String now; with another uid it starts without state",
        )
        with pytest.raises(JobExecutionException, match="its keys were Long and are String now"):
            env.execute()


@pytest.mark.parametrize("key_type", [Types.INT(), None])
def test_keys_of_another_type_and_the_same_bytes_find_their_state(tmp_path: Path, key_type: Any) -> None:
    before = counting_by(lambda n: n % 5, Types.LONG(), tmp_path, MemorySink())
    AtEpoch(4).run(before.execute_async, lambda client: client.cancel())
    sink = MemorySink()
    counting_by(lambda n: n % 5, key_type, tmp_path, sink).execute()
    assert max(sink.records) == 20
