"""Puts the input into a Kafka topic, one message per record, spread over the partitions by key."""

from __future__ import annotations

import json
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from common.inputs import input_files

POLL_EVERY = 10_000


def fill_topic(bootstrap: str, topic: str, partitions: int, directory: Path) -> None:
    """Makes the topic and sends everything; returns when the broker has it all."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    sent = 0
    for path in input_files(directory):
        for line in Path(path).read_bytes().splitlines():
            producer.produce(topic, line, partition=json.loads(line)["k"] % partitions)
            sent += 1
            if sent % POLL_EVERY == 0:
                producer.poll(0)
        # Between files, so that the queue never overflows.
        if producer.flush(120):
            raise RuntimeError("the broker did not take the records")
