"""From topic to topic in pipelined mode on Spark, with drivers and workers that are killed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from kafka.pipe_job import published
from kafka.sending import PARTITIONS, ContinuousSender, Record, oracle
from pipelined.job_process import JobProcess
from services.kafka import KafkaBroker

pytestmark = [pytest.mark.spark, pytest.mark.faults]

OF_DRIVERS = {"manifest.before": "state is staged, no manifest names it", "manifest.after": "nothing is published"}
OF_WORKERS = {"program.record": 300, "task.state.staged": 2, "task.done": 2}
"""How often a worker gets there before it dies: in the middle of an epoch, at the end of one, and between two."""


class Topics:
    """Three topics, and the job between them."""

    def __init__(self, broker: KafkaBroker, directory: Path) -> None:
        self.bootstrap = broker.bootstrap
        self.source, self.at_once, self.exactly_once = (broker.create_topic(partitions=PARTITIONS) for _ in range(3))
        self._directory = directory

    def start(self, fail_points: str = "") -> JobProcess:
        topics = (self.bootstrap, self.source, self.at_once, self.exactly_once)
        errors = self._directory / "errors.txt"
        return JobProcess("topics_job.py", *topics, self._directory, errors=errors, fail_points=fail_points)

    def count(self, topic: str) -> int:
        return sum(published(self.bootstrap, topic).values())

    def check(self, sent: Iterable[Record], when: str) -> None:
        """Every result is right, and the sink that waits for the end of an epoch has shown none twice."""
        at_once, exactly_once = (published(self.bootstrap, topic) for topic in (self.at_once, self.exactly_once))
        right = oracle(list(sent))
        assert exactly_once <= right, when
        assert set(at_once) <= set(right), when
        assert set(exactly_once) <= set(at_once), when


def test_drivers_and_workers_that_are_killed_at_any_moment_lose_and_repeat_nothing(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    topics = Topics(kafka_broker, tmp_path)
    with ContinuousSender(topics.bootstrap, topics.source) as sender:
        with topics.start() as job:
            # An epoch has ended when the sink that waits for its end has shown something; the next is under way.
            job.wait_until(lambda: topics.count(topics.exactly_once) > 0, "the end of an epoch")
            shown = topics.count(topics.at_once)
            job.wait_until(lambda: topics.count(topics.at_once) >= shown + 20, "a result of the next epoch")
        topics.check(sender.sent, "a driver was killed while an epoch ran")
        for step, moment in OF_DRIVERS.items():
            with topics.start(f"{step}=kill") as job:
                assert job.is_killed(), step
            topics.check(sender.sent, f"a driver was killed when {moment}")
        marks = {tmp_path / step: f"{step}@{hit}" for step, hit in OF_WORKERS.items()}
        with topics.start(";".join(f"{point}=once:{mark}" for mark, point in marks.items())) as job:
            job.wait_until(lambda: all(mark.exists() for mark in marks), "the death of three workers")
            sender.stop()
            job.wait_until(lambda: topics.count(topics.exactly_once) >= len(sender.sent), "the last result")
    right = oracle(sender.sent)
    assert published(topics.bootstrap, topics.exactly_once) == right
    at_once = published(topics.bootstrap, topics.at_once)
    assert set(at_once) == set(right), "every result is right, and none is missing; some come twice"
