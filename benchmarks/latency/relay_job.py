"""Kafka to Kafka by a bare loop of the client, without Spark: what the broker and both ends of the way take themselves.

relay_job.py BOOTSTRAP SOURCE TARGET WORK

Messages are parsed, looked at and sent on, as the stateless job does. No state, no checkpoint, no recovery.
"""

from __future__ import annotations

import json
import sys

from confluent_kafka import Producer

from latency.topics import consumer_of

_MAX_DRAIN = 1_000


def main() -> None:
    bootstrap, source_topic, target_topic, _ = sys.argv[1:]
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
    consumer = consumer_of(bootstrap, source_topic)
    while True:
        first = consumer.poll(0.1)
        if first is None:
            continue
        for message in (first, *consumer.consume(_MAX_DRAIN, 0)):
            if message.error() is None and json.loads(message.value())["t"] > 0:
                producer.produce(target_topic, message.value())
        producer.poll(0)


if __name__ == "__main__":
    main()
