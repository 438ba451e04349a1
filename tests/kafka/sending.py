"""Records for a topic, those who send them, and what a right job makes of them."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Self

from confluent_kafka import Producer

PARTITIONS = 2
KEYS = 7

Record = tuple[str, int]


def records(start: int, count: int) -> list[Record]:
    """Records with known keys and values; the partition of a record follows from its key."""
    return [(f"key-{number % KEYS}", number) for number in range(start, start + count)]


def partition_of(key: str) -> int:
    return int(key.removeprefix("key-")) % PARTITIONS


def oracle(sent: Iterable[Record]) -> Counter[tuple[str, int, int]]:
    """(key, number, sum) of every record, from a plain loop; a key's records are in the order of their sending."""
    sums: dict[str, tuple[int, int]] = {}
    results: Counter[tuple[str, int, int]] = Counter()
    for key, value in sent:
        count, total = sums.get(key, (0, 0))
        sums[key] = (count + 1, total + value)
        results[key, count + 1, total + value] += 1
    return results


class Sender:
    """Sends records to a topic, each once and in order, whatever happens to the broker."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.sent: list[Record] = []
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})

    def send(self, to_send: Iterable[Record]) -> None:
        for key, value in to_send:
            self._producer.produce(self._topic, json.dumps({"k": key, "v": value}), partition=partition_of(key))
            self.sent.append((key, value))
        self._flush()

    def send_bytes(self, partition: int, content: bytes) -> None:
        """Sends what need not be a record."""
        self._producer.produce(self._topic, content, partition=partition)
        self._flush()

    def _flush(self) -> None:
        assert self._producer.flush(120) == 0


class ContinuousSender(Sender):
    """Goes on sending in a thread of its own until it is stopped."""

    def __enter__(self) -> Self:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Returns when the broker has everything that was sent."""
        self._stopped.set()
        self._thread.join(150)
        assert not self._thread.is_alive(), "the broker did not take the records"

    def __exit__(self, *error: object) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(0.05):
            self.send(records(len(self.sent), 10))
