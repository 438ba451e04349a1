"""From topic to topic in pipelined mode on Spark, with a driver that is killed in the middle of an epoch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.processes import kill_group
from kafka.pipe_job import published
from kafka.sending import PARTITIONS, ContinuousSender, oracle
from services.kafka import KafkaBroker

pytestmark = [pytest.mark.spark, pytest.mark.faults]

SCRIPT = Path(__file__).with_name("topics_job.py")
SECONDS = 240


class Topics:
    """Three topics, and the job between them."""

    def __init__(self, broker: KafkaBroker, directory: Path) -> None:
        self.bootstrap = broker.bootstrap
        self.source, self.at_once, self.exactly_once = (broker.create_topic(partitions=PARTITIONS) for _ in range(3))
        self._errors = directory / "errors.txt"
        self._directory = directory

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(SCRIPT), self.bootstrap, self.source, self.at_once, self.exactly_once]
        with self._errors.open("w") as errors:
            return subprocess.Popen(
                [*command, str(self._directory)],
                env={**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])},
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def wait_for(self, job: subprocess.Popen[str], topic: str, count: int) -> None:
        deadline = time.monotonic() + SECONDS
        while sum(published(self.bootstrap, topic).values()) < count:
            assert job.poll() is None, self._errors.read_text()
            assert time.monotonic() < deadline, f"no {count} results in {topic}: {self._errors.read_text()}"


def test_a_driver_that_is_killed_in_the_middle_of_an_epoch_loses_and_repeats_nothing(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    topics = Topics(kafka_broker, tmp_path)
    with ContinuousSender(topics.bootstrap, topics.source) as sender:
        job = topics.start()
        try:
            # An epoch has ended when the sink that waits for its end has shown something; the next is under way.
            topics.wait_for(job, topics.exactly_once, 1)
            results = sum(published(topics.bootstrap, topics.at_once).values())
            topics.wait_for(job, topics.at_once, results + 20)
        finally:
            kill_group(job)
        sender.stop()
    job = topics.start()
    try:
        topics.wait_for(job, topics.exactly_once, len(sender.sent))
    finally:
        kill_group(job)
    right = oracle(sender.sent)
    assert published(topics.bootstrap, topics.exactly_once) == right
    at_once = published(topics.bootstrap, topics.at_once)
    assert set(at_once) == set(right), "every result is right, and none is missing; some come twice"
