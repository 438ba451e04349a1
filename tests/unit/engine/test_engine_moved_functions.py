"""Functions with state of their own whose subtasks move from worker to worker, and whose driver dies."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types, fail_points
from penstock.common.fail_points import SimulatedCrash
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import CheckpointedFunction, MapFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor
from penstock.engine.local.executor import LocalStageExecutor
from penstock.engine.local.python_files import LocalFiles
from penstock.engine.stages.task_host import TaskHost

COUNT = 120
ROW = Types.ROW_NAMED(["subtask", "own", "all", "n"], [Types.LONG()] * 4)
made: list[Numbered] = []


class Numbered(MapFunction, CheckpointedFunction):
    def __init__(self, *, with_union: bool) -> None:
        self.with_union = with_union
        self.own = self.all = 0

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.saved = store.get_list_state(ListStateDescriptor("own", Types.LONG()))
        self.own += sum(self.saved.get())
        if self.with_union:
            self.shares = store.get_union_list_state(ListStateDescriptor("shares", Types.LONG()))
            self.all += sum(self.shares.get())

    def open(self, runtime_context: RuntimeContext) -> None:
        made.append(self)
        self.subtask = runtime_context.get_index_of_this_subtask()

    def snapshot_state(self, context: Any) -> None:
        self.saved.update([self.own])
        if self.with_union:
            self.shares.update([self.own])

    def map(self, value: int) -> Row:
        self.own += 1
        return Row(self.subtask, self.own, self.all, value)


@pytest.fixture(autouse=True)
def _forget() -> None:
    made.clear()


def run_job(directory: Path, *, with_union: bool, backend: str = "memory") -> Any:
    configuration = Configuration()
    for key, value in {
        "execution.engine": "local",
        "execution.checkpointing.dir": str(directory / "checkpoint"),
        "execution.epoch.max-records": "12",
        "state.backend": backend,
        "state.local-dir": str(directory / "local"),
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    numbered = env.from_sequence(0, COUNT - 1).map(Numbered(with_union=with_union), ROW).uid("numbered")
    numbered.sink_to(FileSink(str(directory / "out"), "json"))
    job = env.execute_async()
    job.wait(60)
    return job


def check(directory: Path, *, with_union: bool) -> None:
    lines = [line for path in (directory / "out").glob("*.json") for line in path.read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    assert sorted(record["n"] for record in records) == list(range(COUNT))
    by_subtask: dict[int, list[int]] = defaultdict(list)
    for record in records:
        by_subtask[record["subtask"]].append(record["own"])
    for owned in by_subtask.values():
        assert sorted(owned) == list(range(1, len(owned) + 1))
    shown = {record["all"] for record in records}
    assert len(shown) > 5 if with_union else shown == {0}
    for count in shown:
        assert sum(record["all"] < count for record in records) == count


@pytest.mark.parametrize("with_union", [False, True], ids=["list", "union"])
@pytest.mark.parametrize("backend", ["memory", "lmdb"])
def test_two_workers_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, with_union: bool
) -> None:
    other_host = TaskHost(lambda: LocalFiles().root)
    run = LocalStageExecutor.run

    def run_elsewhere(self: Any, header: Any, tasks: Any) -> Any:
        if header.epoch.number % 3 == 0:
            self._host, other = other_host, self._host
            try:
                return run(self, header, tasks)
            finally:
                self._host = other
        return run(self, header, tasks)

    monkeypatch.setattr(LocalStageExecutor, "run", run_elsewhere)
    run_job(tmp_path, with_union=with_union, backend=backend)
    other_host.close()
    check(tmp_path, with_union=with_union)


def test_a_function_stays_as_long_as_its_subtask_does(tmp_path: Path) -> None:
    job = run_job(tmp_path, with_union=False)
    check(tmp_path, with_union=False)
    assert len(made) == 2
    assert job.metrics()["state"]["numbered"] == {"entries": 2, "bytes": 2 * (12 + 6 + 4 + 4 + 9)}


def test_a_function_with_a_union_list_starts_anew_in_every_epoch(tmp_path: Path) -> None:
    job = run_job(tmp_path, with_union=True)
    check(tmp_path, with_union=True)
    assert len(made) == 2 * job.metrics()["epochs"]


@pytest.mark.parametrize("with_union", [False, True], ids=["list", "union"])
@pytest.mark.parametrize("seed", range(12))
def test_crashes_lose_nothing_and_double_nothing(tmp_path: Path, seed: int, with_union: bool) -> None:
    rng = random.Random(seed)
    crashes = 0
    while True:
        left = rng.randint(1, 40) if crashes < 6 else 10**9

        def crash(name: str) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise SimulatedCrash(name)

        fail_points.arm(crash)
        try:
            run_job(tmp_path, with_union=with_union)
            break
        except SimulatedCrash:
            crashes += 1
        finally:
            fail_points.arm(None)
    check(tmp_path, with_union=with_union)
