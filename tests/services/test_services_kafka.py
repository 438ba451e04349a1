"""The broker that tests run against is a real one: it keeps what it acknowledged."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from services.kafka import KafkaBroker


def produce(broker: KafkaBroker, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def consume(broker: KafkaBroker, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = consumer.consume(count, 30)
    consumer.close()
    return [message.value().decode() for message in messages]


def test_records_come_back_in_their_order(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", "b", "c")
    assert consume(kafka_broker, topic, 3) == ["a", "b", "c"]


@pytest.mark.faults
def test_acknowledged_records_survive_a_kill_of_the_broker(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "before")
    kafka_broker.kill()
    assert not kafka_broker.is_running
    kafka_broker.start()
    produce(kafka_broker, topic, "after")
    assert consume(kafka_broker, topic, 2) == ["before", "after"]
