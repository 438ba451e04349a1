"""The topics of the benchmark: the input is copied from one to the other, and then looked at."""

from __future__ import annotations

import json
import os

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from common.contender import Arguments, Result
from common.inputs import records_of
from common.kafka_input import fill_topic

PARTITIONS = 2
SOURCE = "records"
TARGET = "copies"


def make_topics(arguments: Arguments) -> str:
    """Fills the first topic and makes the second; returns the address of the broker."""
    bootstrap = os.environ["BENCHMARK_BROKER"]
    fill_topic(bootstrap, SOURCE, PARTITIONS, arguments.input)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TARGET, PARTITIONS, 1)])[TARGET].result(30)
    return bootstrap


def write_result(arguments: Arguments, bootstrap: str, epochs: list[tuple[int, float]]) -> None:
    """Counts what a reader of committed messages finds; `epochs` are records and seconds of each piece of the run."""
    result = Result(samples=epochs)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "check", "isolation.level": "read_committed", "log_level": 0}
    )
    consumer.assign([TopicPartition(TARGET, partition, 0) for partition in range(PARTITIONS)])
    # A wrong number is found by the runner: here it is enough to stop when nothing comes any more.
    while messages := consumer.consume(50_000, 5):
        result.outputs += len(messages)
        result.checksum += sum(json.loads(message.value())["v"] for message in messages)
        if result.outputs >= records_of(arguments.input):
            break
    consumer.close()
    result.write(arguments.result)
