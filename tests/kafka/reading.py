"""What a consumer sees of a topic."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

SECONDS = 60


def read_topic(bootstrap: str, topic: str, *, committed: bool = True) -> list[Any]:
    """All messages that are there now, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader-of-tests",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
    )
    try:
        partitions = sorted(consumer.list_topics(topic, SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        messages: dict[int, list[Any]] = {partition: [] for partition in partitions}
        open_partitions = set(partitions)
        deadline = time.monotonic() + SECONDS
        while open_partitions:
            assert time.monotonic() < deadline, f"{topic}: no end of {open_partitions}"
            for message in consumer.consume(10_000, 0.05):
                error = message.error()
                if error is None:
                    messages[message.partition()].append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(message.partition())
                else:
                    raise AssertionError(error.str())
        return [message for partition in partitions for message in messages[partition]]
    finally:
        consumer.close()


def values(bootstrap: str, topic: str, *, committed: bool = True) -> list[str]:
    """The values of all messages, sorted."""
    return sorted(message.value().decode() for message in read_topic(bootstrap, topic, committed=committed))
