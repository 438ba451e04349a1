"""Sinks that publish in tasks: once per epoch and subtask, in order, whatever dies, and never without output."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types, fail_points
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import PenstockError
from penstock.common.fail_points import SimulatedCrash
from penstock.connectors.sink import (
    DeliveryGuarantee,
    EpochId,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
    TokenPublisher,
)
from penstock.connectors.staged_records import pack_records, unpack_records
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.local.executor import LocalStageExecutor

COUNT = 60


class LedgerSink(Sink):
    """A directory with a ledger per subtask: its records, and the epoch that wrote last, replaced in one step."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.EXACTLY_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return LedgerWriter(context)

    def create_publisher(self, context: PublisherContext) -> TokenPublisher:
        return LedgerPublisher(self.directory, context)


class LedgerWriter(SinkWriter):
    def __init__(self, context: SinkWriterContext) -> None:
        self.context = context
        self.tokens: list[Token] = []

    def write(self, batch: Batch) -> None:
        self.tokens.append({"path": self.context.storage.write_staged(self.context.staging, pack_records(batch))})

    def prepare_commit(self) -> list[Token]:
        return self.tokens


class LedgerPublisher(TokenPublisher):
    def __init__(self, directory: Path, context: PublisherContext) -> None:
        self.context = context
        self.ledger = directory / f"{context.subtask}.json"
        self.calls = 0

    def publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        self.calls += 1
        ledger = json.loads(self.ledger.read_text()) if self.ledger.exists() else {"epoch": [0, 0], "records": []}
        if EpochId(*ledger["epoch"]) >= epoch:
            return
        for token in tokens:
            ledger["records"] += unpack_records(
                self.context.storage.read_verified(token["path"]), codec_for(Types.LONG())
            )
        if any(record < 0 for record in ledger["records"]):
            raise ValueError("below zero")
        written = self.ledger.with_suffix(".new")
        written.write_text(json.dumps({**ledger, "epoch": epoch, "process": os.getpid(), "calls": self.calls}))
        written.rename(self.ledger)


def ledgers(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(directory.glob("*.json"))]


def records(directory: Path) -> list[int]:
    return sorted(record for ledger in ledgers(directory) for record in ledger["records"])


def run(directory: Path, engine: str = "local", change: Callable[[int], int] = lambda n: n) -> None:
    configuration = Configuration()
    configuration.set_string("execution.engine", engine)
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.epoch.max-records", "20")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    numbers = env.from_sequence(1, COUNT).map(change, Types.LONG())
    for name, stream in {
        "all": numbers,
        "keyed": numbers.key_by(lambda n: n % 5).map(lambda n: n, Types.LONG()),
        "few": numbers.filter(lambda n: n <= 3),
        "none": numbers.filter(lambda n: n > 1000),
    }.items():
        (directory / name).mkdir(parents=True, exist_ok=True)
        stream.sink_to(LedgerSink(directory / name)).name(name).uid(name)
    env.execute_async("publishing").wait(120)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_every_subtask_publishes_its_own_output(tmp_path: Path, engine: str) -> None:
    run(tmp_path, engine)
    assert records(tmp_path / "all") == records(tmp_path / "keyed") == list(range(1, COUNT + 1))
    assert records(tmp_path / "few") == [1, 2, 3]
    assert not ledgers(tmp_path / "none"), "without output nobody calls"
    keyed = ledgers(tmp_path / "keyed")
    assert len(keyed) == 2
    assert all((ledger["process"] == os.getpid()) == (engine == "local") for ledger in keyed)
    if engine == "local":  # Spark may give every epoch to another process
        assert all(ledger["calls"] > 1 for ledger in keyed), "a publisher lives from epoch to epoch"


class Death:
    """The process dies when a step is reached for the n-th time: from there on it takes no step at all."""

    def __init__(self, step: str, hit: int) -> None:
        self.step, self.left = step, hit
        self.reached: list[str] = []

    def __call__(self, name: str) -> None:
        self.reached.append(name)
        self.left -= name == self.step
        if self.left <= 0:
            raise SimulatedCrash(name)


def test_a_crash_at_every_step_of_publishing_is_survived(tmp_path: Path) -> None:
    whole = Death("no step", 1)
    fail_points.arm(whole)
    try:
        run(tmp_path / "whole")
    finally:
        fail_points.arm(None)
    steps = Counter(name for name in whole.reached if name.startswith("publish."))
    assert set(steps) == {
        "publish.before", "publish.task.before", "publish.task.after", "publish.tasks", "publish.after",
    }  # fmt: skip
    for step, hits in steps.items():
        for hit in range(1, hits + 1, 5):
            directory = tmp_path / f"{step}-{hit}"
            fail_points.arm(Death(step, hit))
            try:
                with pytest.raises(SimulatedCrash):
                    run(directory)
            finally:
                fail_points.arm(None)
            run(directory)
            assert records(directory / "all") == records(directory / "keyed") == list(range(1, COUNT + 1)), (step, hit)


def test_what_a_publisher_raises_ends_the_job_and_names_the_sink(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"(?s)the sink 'all' \(uid all, subtask \d\) .*ValueError: below zero"):
        run(tmp_path, change=lambda n: -n)


@pytest.mark.parametrize("losses", [2, 3])
def test_tasks_that_the_engine_loses_are_started_again_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, losses: int
) -> None:
    publish = LocalStageExecutor.publish
    attempts: list[EpochId] = []

    def lose(self: LocalStageExecutor, epoch: EpochId, outputs: Any) -> Any:
        attempts.append(epoch)
        if len(attempts) <= losses:
            raise ExecutionFailedError("an executor was lost")
        return publish(self, epoch, outputs)

    monkeypatch.setattr(LocalStageExecutor, "publish", lose)
    if losses < 3:
        run(tmp_path)
        assert records(tmp_path / "all") == list(range(1, COUNT + 1))
    else:
        with pytest.raises(PenstockError, match="lost the tasks 3 times: an executor was lost"):
            run(tmp_path)
