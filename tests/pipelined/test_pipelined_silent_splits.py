"""A Kafka partition without records, in pipelined mode on Spark: it holds event time back unless it may be idle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka.reading import read_topic
from kafka.sending import Sender
from pipelined.job_process import JobProcess
from pipelined.silent_split_job import WINDOW_MS
from services.kafka import KafkaBroker

pytestmark = pytest.mark.spark

STEP_MS = 400
SPEAKING, SILENT = "key-0", "key-1"
"""Keys, each the only one of its partition."""


class OnePartition:
    """Time goes on in one partition while the windows over both are looked at."""

    def __init__(self, broker: KafkaBroker) -> None:
        self.bootstrap = broker.bootstrap
        self.source = broker.create_topic(partitions=2)
        self.idle, self.held = (broker.create_topic() for _ in range(2))
        self.sender = Sender(self.bootstrap, self.source)
        self.now = 0

    def speaks(self) -> None:
        self.now += STEP_MS
        self.sender.send([(SPEAKING, self.now)])

    def windows(self, topic: str) -> set[int]:
        """The time of the last record of each window of the partition that speaks."""
        rows = [json.loads(message.value()) for message in read_topic(self.bootstrap, topic)]
        return {row["v"] for row in rows if row["k"] == SPEAKING}

    def has_windows(self, topic: str, after: int, count: int = 3) -> bool:
        self.speaks()
        return sum(last > after for last in self.windows(topic)) >= count

    def expected(self) -> set[int]:
        """The last records of windows that are over, from a plain loop."""
        times = range(STEP_MS, self.now + 1, STEP_MS)
        return {time for time in times if (time + STEP_MS) // WINDOW_MS > time // WINDOW_MS}


def test_a_silent_partition_that_may_be_idle_holds_no_window_back_and_another_does(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    topics = OnePartition(kafka_broker)
    arguments = (topics.bootstrap, topics.source, topics.idle, topics.held, tmp_path)
    with JobProcess("silent_split_job.py", *arguments, errors=tmp_path / "errors.txt") as job:
        job.wait_until(lambda: topics.has_windows(topics.idle, after=0), "a window within the first epoch", between=0.1)
        assert topics.windows(topics.held) == set()
        job.tell("end the epoch")
        job.wait_until((tmp_path / "savepoints").exists, "the end of the first epoch", between=0.1)
        seen = topics.now
        job.wait_until(
            lambda: topics.has_windows(topics.idle, after=seen), "a window within the second epoch", between=0.1
        )
        assert topics.windows(topics.held) == set(), "nor does the end of an epoch help"
        topics.sender.send([(SILENT, topics.now)])
        shown = topics.windows(topics.idle)
        job.wait_until(lambda: topics.windows(topics.held) >= shown, "what was held back", between=0.1)
        assert topics.windows(topics.idle) <= topics.expected(), "each has its last record"
        assert topics.windows(topics.held) <= topics.expected()
