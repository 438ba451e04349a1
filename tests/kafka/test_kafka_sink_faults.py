"""From topic to topic, exactly once, while drivers, workers and the broker are killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.processes import KILLED, kill_group
from kafka.pipe_job import published, start_pipe_job
from kafka.sending import PARTITIONS, ContinuousSender, Sender, oracle, records
from penstock.common.errors import PenstockError
from penstock.common.fail_points import ENVIRONMENT_VARIABLE
from penstock.common.job import JobStatus
from services.kafka import KafkaBroker
from services.modules_of_tests import python_path
from services.python_process import run_python

pytestmark = pytest.mark.faults

SCRIPT = Path(__file__).with_name("pipe_job.py")
SECONDS = 180
LOCAL = {"execution.engine": "local", "execution.epoch.max-records": "50"}
STEPS = [
    "sink.kafka.staged@2",
    "manifest.before@2",
    "manifest.after@2",
    "sink.kafka.sent@2",
    "sink.kafka.marked@2",
    "sink.kafka.committed@2",
    "publish.after@2",
]


class Pipe:
    """Two topics, and the job between them."""

    def __init__(self, broker: KafkaBroker, directory: Path) -> None:
        self.broker = broker
        self.source = broker.create_topic(partitions=PARTITIONS)
        self.target = broker.create_topic(partitions=PARTITIONS)
        self.directory = directory

    def start(self, options: dict[str, str], *, bounded: bool = True, directory: Path | None = None):
        return start_pipe_job(
            bootstrap=self.broker.bootstrap,
            source=self.source,
            target=self.target,
            directory=directory or self.directory,
            options=options,
            bounded=bounded,
        )

    def run_process(self, options: dict[str, str], fail_points: str = "") -> subprocess.CompletedProcess[str]:
        """Runs the job in a process of its own until it ends or dies."""
        arguments = [str(SCRIPT), self.broker.bootstrap, self.source, self.target, str(self.directory)]
        for key, value in options.items():
            arguments += ["--option", f"{key}={value}"]
        if options.get("execution.engine") == "local":
            return run_python(*arguments, more_environment={ENVIRONMENT_VARIABLE: fail_points}, timeout=SECONDS)
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": python_path(), ENVIRONMENT_VARIABLE: fail_points},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _, errors = process.communicate(timeout=SECONDS)
        finally:
            kill_group(process)
        return subprocess.CompletedProcess(arguments, process.returncode, "", errors)

    def published(self):
        return published(self.broker.bootstrap, self.target)


@pytest.fixture
def pipe(kafka_broker: KafkaBroker, tmp_path: Path) -> Pipe:
    return Pipe(kafka_broker, tmp_path)


def test_a_driver_killed_at_one_step_after_the_other_publishes_everything_once(pipe):
    options = {**LOCAL, "state.backend": "lmdb", "state.local-dir": str(pipe.directory / "local")}
    sender = Sender(pipe.broker.bootstrap, pipe.source)
    sender.send(records(0, 50 * 4 * len(STEPS)))
    for step in STEPS:
        killed = pipe.run_process(options, f"{step}=kill")
        assert killed.returncode == KILLED, f"{step}: {killed.stderr}"
        assert not pipe.published() - oracle(sender.sent), f"{step}: something is there twice"
    finished = pipe.run_process(options)
    assert finished.returncode == 0, finished.stderr
    assert pipe.published() == oracle(sender.sent)


@pytest.mark.spark
def test_a_worker_killed_in_mid_transaction_costs_one_repeated_transaction(pipe):
    options = {"spark.master": "local[2]", "execution.epoch.max-records": "100"}
    sender = Sender(pipe.broker.bootstrap, pipe.source)
    sender.send(records(0, 400))
    points = ";".join(f"{step}@2=once:{pipe.directory / step}" for step in ("sink.kafka.sent", "sink.kafka.committed"))
    finished = pipe.run_process({**options, "state.local-dir": str(pipe.directory / "local")}, points)
    assert finished.returncode == 0, finished.stderr
    assert (pipe.directory / "sink.kafka.sent").exists(), "a worker was meant to be killed"
    assert pipe.published() == oracle(sender.sent)


def test_a_broker_that_dies_and_comes_back_is_waited_for(pipe):
    job = pipe.start(LOCAL, bounded=False)

    def until_published(count: int) -> None:
        deadline = time.monotonic() + SECONDS
        while pipe.published().total() < count:
            if job.status is JobStatus.FAILED:
                job.wait()
            assert time.monotonic() < deadline, f"published: {pipe.published().total()} of {count}"

    with ContinuousSender(pipe.broker.bootstrap, pipe.source) as sender:
        until_published(1)
        for _ in range(2):
            pipe.broker.kill()
            pipe.broker.start()
            until_published(pipe.published().total() + 100)
        sender.stop()
    until_published(len(sender.sent))
    job.cancel()
    job.wait(SECONDS)
    assert pipe.published() == oracle(sender.sent)


def test_an_older_copy_of_a_checkpoint_is_refused(pipe):
    sender = Sender(pipe.broker.bootstrap, pipe.source)

    def run_until_all_is_published() -> None:
        job = pipe.start(LOCAL, bounded=False)
        deadline = time.monotonic() + SECONDS
        while pipe.published().total() < len(sender.sent):
            assert time.monotonic() < deadline
        job.cancel()
        job.wait(SECONDS)
        assert pipe.published() == oracle(sender.sent)

    sender.send(records(0, 50))
    run_until_all_is_published()
    shutil.copytree(pipe.directory / "checkpoint", pipe.directory / "copy" / "checkpoint")
    sender.send(records(50, 50))
    run_until_all_is_published()
    with pytest.raises(PenstockError, match=r"has epoch .* knows epoch .* older copy"):
        pipe.start(LOCAL, bounded=False, directory=pipe.directory / "copy").wait(SECONDS)
    assert pipe.published() == oracle(sender.sent)
