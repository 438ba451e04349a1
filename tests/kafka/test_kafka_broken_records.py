"""Messages that cannot be read: skipped and counted, or in a side output with their position and the reason."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from penstock.common import Configuration, Types
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from services.kafka import KafkaBroker

ROW = Types.ROW_NAMED(["n"], [Types.LONG()])
MESSAGES = [b'{"n": 1}', b"no JSON", b'{"n": 2}', b'{"n": "many"}', b'{"n": 3}']


@pytest.fixture
def topic(kafka_broker: KafkaBroker) -> str:
    name = kafka_broker.create_topic(partitions=1)
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    for message in MESSAGES:
        producer.produce(name, message)
    producer.flush()
    return name


def numbers_of(broker: KafkaBroker, topic: str, on_error: str | OutputTag) -> tuple[list[int], list[tuple[bytes, str]]]:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(JsonRowDeserializationSchema.builder().type_info(ROW).build())
        .set_on_error(on_error)
        .build()
    )
    stream = env.from_source(source, source_name="numbers")
    numbers = [row[0] for row in stream.execute_and_collect()]
    if isinstance(on_error, str):
        return numbers, []
    broken = list(env.from_source(source, source_name="again").get_side_output(on_error).execute_and_collect())
    return numbers, [(bytes(each[0]), each[1]) for each in broken]


def test_they_are_skipped(kafka_broker: KafkaBroker, topic: str) -> None:
    assert numbers_of(kafka_broker, topic, "skip") == ([1, 2, 3], [])


def test_they_go_to_a_side_output(kafka_broker: KafkaBroker, topic: str) -> None:
    numbers, broken = numbers_of(kafka_broker, topic, OutputTag("broken"))
    assert numbers == [1, 2, 3]
    position = f"Kafka topic {topic}, partition 0, offset"
    assert broken == [(MESSAGES[1], f"{position} 1"), (MESSAGES[3], f"{position} 3")]
