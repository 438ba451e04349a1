"""Whole jobs on a real broker: what is sent is counted once, on both engines, whoever is killed or silent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.processes import KILLED
from faults.rolling_job import published
from kafka.sending import KEYS, PARTITIONS, ContinuousSender, Sender, oracle, partition_of, records
from kafka.topic_job import start_topic_job
from penstock.common.errors import JobExecutionException
from penstock.common.job import JobStatus
from penstock.execution.job_client import JobClient
from services.kafka import KafkaBroker
from services.python_process import PythonProcess

SCRIPT = Path(__file__).with_name("topic_job.py")
SECONDS = 180
LOCAL = {"execution.engine": "local", "execution.epoch.max-records": "50"}
SPARK = {"execution.engine": "spark", "spark.master": "local[2]", "execution.epoch.max-records": "50"}


@pytest.fixture(params=[pytest.param(LOCAL, id="local"), pytest.param(SPARK, id="spark", marks=pytest.mark.spark)])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    return {**request.param, "state.local-dir": str(tmp_path / "local")}


class TopicRun:
    """One topic, and the job that reads it, started as often as a test likes."""

    def __init__(self, broker: KafkaBroker, directory: Path) -> None:
        self.broker = broker
        self.topic = broker.create_topic(partitions=PARTITIONS)
        self.directory = directory
        self.sender = Sender(broker.bootstrap, self.topic)
        self._jobs: list[JobClient] = []

    def start(self, options: dict[str, str], *, bounded: bool = False) -> JobClient:
        job = start_topic_job(
            bootstrap=self.broker.bootstrap,
            topic=self.topic,
            directory=self.directory,
            options=options,
            bounded=bounded,
        )
        self._jobs.append(job)
        return job

    @property
    def published(self):
        return published(self.directory / "out")

    def until_more_than(self, count: int, job: JobClient | None = None) -> None:
        """Waits until more than that many results are published."""
        self.until(lambda: self.published.total() > count, job)

    def until(self, condition: Callable[[], bool], job: JobClient | None = None) -> None:
        """Waits for a condition; a job that fails meanwhile raises its error."""
        deadline = time.monotonic() + SECONDS
        while not condition():
            if job is not None and job.status is JobStatus.FAILED:
                job.wait()
            assert time.monotonic() < deadline, f"published: {self.published.total()} records"
            time.sleep(0.02)

    def end(self) -> None:
        for job in self._jobs:
            job.cancel()
        for job in self._jobs:
            job.get_job_execution_result().exception(SECONDS)


@pytest.fixture
def run(kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[TopicRun]:
    topic_run = TopicRun(kafka_broker, tmp_path)
    yield topic_run
    topic_run.end()


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_bounded_read_counts_what_was_there_when_it_started(run, options, mode):
    run.sender.send(records(0, 300))
    run.start({**options, "execution.runtime-mode": mode}, bounded=True).wait(SECONDS)
    assert run.published == oracle(run.sender.sent)


def test_a_cancelled_job_goes_on_with_what_came_meanwhile(run, options):
    job = run.start(options)
    run.sender.send(records(0, 150))
    run.until(lambda: run.published == oracle(run.sender.sent), job)
    job.cancel()
    job.wait(SECONDS)
    run.sender.send(records(150, 150))
    assert run.published == oracle(run.sender.sent[:150])
    job = run.start(options)
    run.until(lambda: run.published.total() >= 300, job)
    run.sender.send(records(300, 10))
    run.until(lambda: run.published.total() >= 310, job)
    job.cancel()
    job.wait(SECONDS)
    assert run.published == oracle(run.sender.sent)


def test_a_partition_that_falls_silent_holds_nobody_up(run, options):
    job = run.start(options)
    run.sender.send(records(0, 4 * KEYS))
    run.until(lambda: run.published == oracle(run.sender.sent), job)
    busy = [record for record in records(4 * KEYS, 30 * KEYS) if partition_of(record[0]) == 0]
    for start in range(0, len(busy), 40):
        run.sender.send(busy[start : start + 40])
        run.until(lambda: run.published == oracle(run.sender.sent), job)
    run.sender.send(records(34 * KEYS, 2 * KEYS))
    run.until(lambda: run.published == oracle(run.sender.sent), job)


def test_a_record_that_is_not_json_is_named(run, options):
    run.sender.send([("key-1", 1), ("key-1", 2)])
    run.sender.send_bytes(1, b"not { json")
    run.sender.send([("key-0", 3)])
    with pytest.raises(JobExecutionException) as failure:
        run.start(options).wait(SECONDS)
    message = str(failure.value)
    assert "SourceError" in message.splitlines()[0]
    assert f"topic {run.topic}, partition 1, offset 2:" in message
    assert "b'not { json'" in message
    assert "operator: payments" in message


@pytest.mark.faults
def test_a_killed_driver_goes_on_while_records_keep_coming(run):
    with ContinuousSender(run.broker.bootstrap, run.topic) as sender:
        for _ in range(3):
            with driver_process(run):
                run.until_more_than(run.published.total())
        run.until(lambda: len(sender.sent) > run.published.total() + 50)
        sender.stop()
    with driver_process(run):
        run.until_more_than(len(sender.sent) - 1)
    assert run.published == oracle(sender.sent)


@contextmanager
def driver_process(run: TopicRun) -> Iterator[None]:
    """The job in a process of its own, which is killed at the end."""
    log = run.directory / "driver.log"
    process = PythonProcess(SCRIPT, run.broker.bootstrap, run.topic, run.directory, output=log, errors=log)
    try:
        yield
    finally:
        status = process.end()
    assert status == KILLED, log.read_text()


@pytest.mark.faults
def test_a_broker_that_dies_and_comes_back_is_waited_for(run, options):
    job = run.start(options)
    with ContinuousSender(run.broker.bootstrap, run.topic) as sender:
        run.until_more_than(0, job)
        run.broker.kill()
        run.broker.start()
        run.until_more_than(run.published.total() + 100, job)
        sender.stop()
    run.until_more_than(len(sender.sent) - 1, job)
    job.cancel()
    job.wait(SECONDS)
    assert run.published == oracle(sender.sent)
