"""Functions that save state of their own: list and union list state."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.errors import JobExecutionException
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
    RuntimeContext,
    SinkFunction,
)
from penstock.datastream.state import ListStateDescriptor

COUNT = 200
ROW = Types.ROW_NAMED(["subtask", "own", "all", "n"], [Types.LONG()] * 4)


class Numbered(MapFunction, CheckpointedFunction):
    """Numbers the records of its subtask, in memory, and knows how many all subtasks had when it was initialized.

    It fails when some results are published, or at once, until a file says that the power is back.
    """

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.directory = directory
        self.at_once = at_once
        self.own = 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved_own = store.get_list_state(ListStateDescriptor("own", Types.LONG()))
        self.saved_shares = store.get_union_list_state(
            ListStateDescriptor("shares", Types.TUPLE([Types.INT(), Types.LONG()]))
        )
        # As a function in Flink may do: what is there already is not overwritten but added to.
        for count in self.saved_own.get():
            self.own += count
        shares = list(self.saved_shares.get())
        assert context.is_restored() or not shares
        assert len(shares) == len(dict(shares))
        self.all = sum(count for _, count in shares)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        metrics = runtime_context.get_metrics_group().add_group("mine")
        self.counter, self.meter = metrics.counter("records"), metrics.meter("rate")
        self.numbers = metrics.distribution("numbers")
        metrics.gauge("own", lambda: self.own)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved_own.update([self.own - 3, 3])
        self.saved_shares.update([(self.subtask, self.own)])

    def map(self, value: int) -> Row:
        is_due = self.at_once or any((self.directory / "out").glob("*.json"))
        if is_due and not (self.directory / "power is back").exists():
            raise RuntimeError("power cut")
        self.own += 1
        self.counter.inc()
        self.meter.mark_event()
        self.numbers.update(value)
        return Row(self.subtask, self.own, self.all, value)


def check_metrics(tasks: list[Any], by_subtask: dict[int, list[int]], mode: str) -> None:
    """Metrics count what a worker has done since it started: all of a batch; of a stream, the last epoch at least."""
    mine = [task for task in tasks if "numbered.mine.records" in task["counters"]]
    assert sorted(task["gauges"]["numbered.mine.own"] for task in mine) == sorted(map(max, by_subtask.values()))
    counted = sum(task["counters"]["numbered.mine.records"] for task in mine)
    assert counted == COUNT if mode == "BATCH" else 0 < counted <= COUNT
    assert sum(task["distributions"]["numbered.mine.numbers"]["count"] for task in mine) == counted
    assert sum(task["meters"]["numbered.mine.rate"]["count"] for task in mine) == counted
    assert max(task["distributions"]["numbered.mine.numbers"]["max"] for task in mine) == COUNT - 1


def test_functions_go_on_where_they_were(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    env.configuration.set_string("execution.epoch.max-records", "50")
    function = Numbered(tmp_path, at_once=mode == "BATCH")  # batch is one epoch
    for attempt in range(2):
        numbered = env.from_sequence(0, COUNT - 1).map(function, ROW).uid("numbered")
        numbered.sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            (tmp_path / "power is back").touch()
        else:
            job = env.execute_async()
            job.wait()
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert sorted(record["n"] for record in records) == list(range(COUNT))
    by_subtask: dict[int, list[int]] = defaultdict(list)
    for record in records:
        by_subtask[record["subtask"]].append(record["own"])
    for owned in by_subtask.values():
        assert sorted(owned) == list(range(1, len(owned) + 1))
    check_metrics([task["metrics"] for task in job.metrics()["tasks"].values()], by_subtask, mode)
    if mode == "BATCH":
        assert {record["all"] for record in records} == {0}
    else:
        # What all had at the beginning of an epoch: as many records have a smaller number of that kind.
        for count in {record["all"] for record in records}:
            assert sum(record["all"] < count for record in records) == count
        assert len({record["all"] for record in records}) >= 3
        assert job.metrics()["state"]["numbered"]["entries"] == 2


class Batching(SinkFunction, CheckpointedFunction):
    """Writes records out by the ten; what waits for more is state."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.waiting: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(ListStateDescriptor("waiting"))
        self.waiting += self.saved.get()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update(self.waiting)

    def invoke(self, value: int, context: SinkFunction.Context) -> None:
        self.waiting.append(value)
        if len(self.waiting) == 10:
            self.write()

    def write(self) -> None:
        if self.waiting:
            name = f"{self.subtask}-{min(self.waiting)}-{max(self.waiting)}"
            (self.directory / name).write_text(json.dumps(self.waiting))
            self.waiting.clear()

    def close(self) -> None:
        self.write()


def test_a_sink_function_keeps_what_it_has_not_written(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.configuration.set_string("execution.epoch.max-records", "65")
    env.from_sequence(0, COUNT - 1).add_sink(Batching(tmp_path))
    (tmp_path / "checkpoint").mkdir(exist_ok=True)
    env.execute()
    written = [json.loads(path.read_text()) for path in tmp_path.iterdir() if path.is_file()]
    assert sorted(n for batch in written for n in batch) == list(range(COUNT))
    assert sum(len(batch) < 10 for batch in written) <= env.get_parallelism()
