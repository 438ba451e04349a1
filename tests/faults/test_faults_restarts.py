"""Restart strategies: what a job survives without being started again, and what it does not try to survive."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from penstock.common import Configuration, RestartStrategies, Types, fail_points
from penstock.common.errors import EnvironmentNotReadyError, JobExecutionException, StateCorruptionError
from penstock.common.job import JobStatus
from penstock.connectors.sink import Committer, CommitterContext, EpochId, Token
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.engine.epochs.stage_executor import StageResults
from penstock.engine.local.executor import LocalStageExecutor
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.execution.job_client import JobClient
from penstock.state.storage import LocalCheckpointStorage
from penstock.testing import VirtualClock, local_environment
from penstock.testing.memory_sink import MemorySink

SECONDS = 60


class Flaky(KeyedProcessFunction):
    """Counts records in state; fails at the fifth as often as the file says."""

    def __init__(self, failures: Path) -> None:
        self._failures = failures

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        if value == 5 and (left := int(self._failures.read_text())) > 0:
            self._failures.write_text(str(left - 1))
            raise ConnectionError("the service does not answer")
        self._count.update((self._count.value() or 0) + 1)
        yield value, self._count.value()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def messages() -> Iterator[list[str]]:
    """What the job logs."""
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())
    logging.getLogger("penstock").addHandler(handler)
    yield found
    logging.getLogger("penstock").removeHandler(handler)


def start(directory: Path, clock: VirtualClock, sink: MemorySink, *, failures: int, **options: str) -> JobClient:
    (directory / "failures").write_text(str(failures))
    configuration = Configuration().set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    configuration.set_string("execution.epoch.max-records", "2")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = local_environment(configuration, clock=clock)
    stream = env.from_collection(range(1, 9), Types.LONG()).key_by(lambda value: 0)
    stream.process(Flaky(directory / "failures")).sink_to(sink)
    return env.execute_async("flaky")


RIGHT = [(n, n) for n in range(1, 9)]


def test_a_stream_with_a_checkpoint_directory_is_restarted_by_default(
    tmp_path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, messages: list[str]
) -> None:
    monkeypatch.delenv("PENSTOCK_RESTART_STRATEGY", raising=False)
    sink = MemorySink()
    job = start(tmp_path, clock, sink, failures=4)
    job.wait(SECONDS)
    assert sink.records == RIGHT
    assert job.metrics()["restarts"] == 4
    # 1 s, 1.5 s, 2.25 s, 3.375 s, and a tenth of each either way.
    assert 7_300 <= clock.now() <= 9_000
    causes = [message for message in messages if "goes on from there" in message]
    assert len(causes) == 4
    assert all("ConnectionError: the service does not answer" in cause for cause in causes)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_without_checkpoints_and_in_batch_the_first_failure_ends_the_job(
    tmp_path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.delenv("PENSTOCK_RESTART_STRATEGY", raising=False)
    (tmp_path / "failures").write_text("1")
    configuration = Configuration().set_string("execution.runtime-mode", mode)
    if mode == "BATCH":
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
    env = local_environment(configuration, clock=clock)
    env.from_collection(range(9), Types.LONG()).key_by(lambda value: 0).process(Flaky(tmp_path / "failures")).print()
    with pytest.raises(JobExecutionException, match="the service does not answer"):
        env.execute()


def test_a_strategy_that_gives_up_raises_the_last_failure(tmp_path: Path, clock: VirtualClock) -> None:
    options = {"restart_strategy__type": "fixed-delay", "restart_strategy__fixed_delay__attempts": "2"}
    job = start(tmp_path, clock, MemorySink(), failures=3, **options)
    with pytest.raises(JobExecutionException, match="the service does not answer") as raised:
        job.wait(SECONDS)
    assert raised.value.report is not None
    assert (raised.value.report.key, raised.value.report.record) == ("0", "5")
    assert job.status is JobStatus.FAILED
    start(tmp_path, clock, sink := MemorySink(), failures=0).wait(SECONDS)
    assert sink.records == RIGHT[4:], "what was committed is published, and the program goes on from there"


def test_a_disk_that_is_full_for_a_while_is_waited_for(tmp_path: Path, clock: VirtualClock) -> None:
    write = LocalCheckpointStorage._temporary
    writes = 0

    def full(self: LocalCheckpointStorage, directory: Path, content: bytes) -> Any:
        nonlocal writes
        writes += "manifests" in str(directory)
        if 3 <= writes <= 5 and "manifests" in str(directory):
            raise OSError(errno.ENOSPC, "no space left on device")
        return write(self, directory, content)

    sink = MemorySink()
    with patch.object(LocalCheckpointStorage, "_temporary", full):
        options = {"restart_strategy__type": "fixed-delay", "restart_strategy__fixed_delay__attempts": "9"}
        start(tmp_path, clock, sink, failures=0, **options).wait(SECONDS)
    assert writes > 5
    assert sink.records == RIGHT


def test_a_driver_that_another_has_taken_over_from_does_not_come_back(tmp_path: Path, clock: VirtualClock) -> None:
    """While the first waits to be restarted, the second runs the job to its end."""
    second: list[JobClient] = []

    class Interrupted(VirtualClock):
        def wait(self, event: Any, seconds: float) -> bool:
            if seconds == 77 and not second:
                second.append(start(tmp_path, clock, MemorySink(), failures=0))
                second[0].wait(SECONDS)
            return super().wait(event, seconds)

    options = {"restart_strategy__type": "fixed-delay", "restart_strategy__fixed_delay__delay": "77 s"}
    first = start(tmp_path, Interrupted(), MemorySink(), failures=1, **options)
    with pytest.raises(JobExecutionException, match="another driver has taken over"):
        first.wait(SECONDS)
    assert second[0].status is JobStatus.FINISHED


def test_a_mistake_that_is_there_from_the_beginning_is_told_at_once(tmp_path: Path, clock: VirtualClock) -> None:
    start(tmp_path, clock, MemorySink(), failures=0).wait(SECONDS)
    configuration = Configuration().set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
    env = local_environment(configuration, clock=clock)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, "1 min"))
    env.from_collection([1]).print()
    with pytest.raises(JobExecutionException, match="belongs to another plan"):
        env.execute()
    assert clock.now() < 60_000


@pytest.mark.parametrize(("lost_at", "restarts"), [(1, 0), (3, 2)])
def test_machines_that_a_job_has_had_are_waited_for_and_those_it_never_had_are_not(
    tmp_path: Path, clock: VirtualClock, lost_at: int, restarts: int
) -> None:
    """A job that has worked has all it needs, as soon as what was lost has come again."""
    run = LocalStageExecutor.run
    calls = 0

    def lack_slots(self: LocalStageExecutor, header: EpochHeader, tasks: Any) -> StageResults:
        nonlocal calls
        calls += 1
        if lost_at <= calls < lost_at + 2:
            raise EnvironmentNotReadyError("Spark has fewer slots free")
        return run(self, header, tasks)

    options = {"restart_strategy__type": "fixed-delay", "restart_strategy__fixed_delay__attempts": "9"}
    with patch.object(LocalStageExecutor, "run", lack_slots):
        job = start(tmp_path, clock, sink := MemorySink(), failures=0, **options)
        if restarts:
            job.wait(SECONDS)
            assert sink.records == RIGHT
        else:
            with pytest.raises(JobExecutionException, match="Spark has fewer slots free"):
                job.wait(SECONDS)
    assert job.metrics()["restarts"] == restarts


def test_cancel_ends_the_wait_for_a_restart(tmp_path: Path) -> None:
    options = {"restart_strategy__type": "fixed-delay", "restart_strategy__fixed_delay__delay": "1 d"}
    (tmp_path / "failures").write_text("1")
    configuration = Configuration().set_string("execution.engine", "local")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment(configuration).set_parallelism(1)
    env.from_collection(range(9), Types.LONG()).key_by(lambda value: 0).process(Flaky(tmp_path / "failures")).print()
    job = env.execute_async()
    while job.status is not JobStatus.RESTARTING:
        assert not job.has_ended(within=0.01)
    job.cancel().result()
    assert job.status is JobStatus.CANCELED


BROKEN: list[bool] = []


class BrokenSink(MemorySink):
    """Its target is away as often as there is something in `BROKEN`."""

    def create_committer(self, context: CommitterContext) -> Committer:
        return BrokenCommitter(super().create_committer(context))


class BrokenCommitter(Committer):
    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        if BROKEN and epoch.number > 2:
            BROKEN.pop()
            raise ConnectionResetError("connection reset")
        self._committer.commit(epoch, tokens)


def test_publishing_that_fails_is_tried_again_by_the_restart(tmp_path: Path, clock: VirtualClock) -> None:
    BROKEN.extend([True] * 3)
    sink = BrokenSink()
    options = {"restart_strategy__type": "fixed-delay", "restart_strategy__fixed_delay__attempts": "9"}
    job = start(tmp_path, clock, sink, failures=0, **options)
    job.wait(SECONDS)
    assert not BROKEN
    assert job.metrics()["restarts"] == 3
    assert sink.records == RIGHT


def test_a_job_whose_end_cannot_be_noted_down_ends(tmp_path: Path, clock: VirtualClock, messages: list[str]) -> None:
    write = LocalCheckpointStorage.put_if_absent

    def gone(self: LocalCheckpointStorage, path: str, content: bytes) -> bool:
        if path.endswith(".ended.json"):
            raise StateCorruptionError("the directory is gone")
        return write(self, path, content)

    sink = MemorySink()
    with patch.object(LocalCheckpointStorage, "put_if_absent", gone):
        start(tmp_path, clock, sink, failures=0).wait(SECONDS)
    assert sink.records == RIGHT
    assert "the job's end cannot be noted down: the directory is gone" in messages


def test_a_dead_process_writes_no_sign_that_the_job_has_ended(tmp_path: Path, clock: VirtualClock) -> None:
    def die(name: str) -> None:
        if name == "manifest.after":
            raise fail_points.SimulatedCrash(name)

    fail_points.arm(die)
    try:
        with pytest.raises(fail_points.SimulatedCrash):
            start(tmp_path, clock, MemorySink(), failures=0).wait(SECONDS)
    finally:
        fail_points.arm(None)
    assert not list((tmp_path / "checkpoint" / "drivers").glob("*-ended"))
    start(tmp_path, clock, MemorySink(), failures=0).wait(SECONDS)
    assert list((tmp_path / "checkpoint" / "drivers").glob("*-ended"))
