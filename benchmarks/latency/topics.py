"""The two ends of the way: what sends records to one topic, and what reads results from another.

Both run in one process. Times are those of its clock: nothing is compared across machines.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

PARTITIONS = 2
KEYS = 50
TOGETHER_SECONDS = 0.005
"""Records of so long are sent together. Where each was sent by itself, the broker took more than one of two cores, for
1,000 records a second, and its load was what was measured."""
START_TIMEOUT_SECONDS = 120
_MAX_DRAIN = 1_000


class Feed:
    """Sends records at a steady rate, each with the second in which it was sent, from a thread of its own."""

    def __init__(self, bootstrap: str, topic: str, rate: int) -> None:
        self._topic = topic
        self._rate = rate
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._new_rate = rate
        self.sent = 0

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def change_rate(self, rate: int) -> None:
        """So many a second from now on."""
        self._new_rate = rate

    def _run(self) -> None:
        started, before = time.time(), 0
        while not self._ended.wait(TOGETHER_SECONDS):
            if self._new_rate != self._rate:
                started, before, self._rate = time.time(), self.sent, self._new_rate
            due = before + int((time.time() - started) * self._rate)
            while self.sent < due:
                value = json.dumps({"k": f"key-{self.sent % KEYS}", "t": time.time()})
                self._produce(value)
                self.sent += 1
            self._producer.poll(0)

    def _produce(self, value: str) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, partition=self.sent % PARTITIONS)
                return
            except BufferError:
                self._producer.poll(0.1)


def consumer_of(bootstrap: str, topic: str) -> Consumer:
    """Reads a topic from its beginning. The broker answers as soon as there is a message."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "latency", "enable.auto.commit": False, "log_level": 0}
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    return consumer


class Arrival(NamedTuple):
    """A result: the second from which its way is counted, and how long that was."""

    sent: float
    latency_ms: float


class Reader:
    """Reads results of a running job as they come."""

    def __init__(self, bootstrap: str, topic: str, job: subprocess.Popen[bytes], log: Path) -> None:
        self._job = job
        self._log = log
        self._consumer = consumer_of(bootstrap, topic)

    def wait_for_first(self) -> None:
        """Returns when a result has come."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not self._take():
            if time.monotonic() > deadline:
                raise self._nothing_came()

    def read(self, seconds: float) -> list[Arrival]:
        """All results that come within some seconds."""
        arrivals: list[Arrival] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            arrivals += self._take()
        return arrivals

    def close(self) -> None:
        """Lets go of the connection."""
        self._consumer.close()

    def _take(self) -> list[Arrival]:
        """Waits for one message and takes with it those that are there: waiting for many would be measured too."""
        first: Any = self._consumer.poll(0.1)
        if self._job.poll() is not None:
            raise self._nothing_came()
        if first is None:
            return []
        messages = [first, *self._consumer.consume(_MAX_DRAIN, 0)]
        now = time.time()
        sent = [json.loads(message.value())["t"] for message in messages if message.error() is None]
        return [Arrival(each, (now - each) * 1000) for each in sent]

    def _nothing_came(self) -> RuntimeError:
        return RuntimeError(f"no results came:\n{self._log.read_text(errors='replace')[-4000:]}")
