"""The Kafka sink against a real broker."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from kafka.reading import read_topic, values
from penstock.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import PenstockError
from penstock.connectors.kafka.producer import MessageProducer
from penstock.connectors.sink import EpochId, PublisherContext, SinkWriterContext
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
)
from penstock.state.storage import LocalCheckpointStorage
from services.kafka import KafkaBroker

EXACTLY_ONCE = DeliveryGuarantee.EXACTLY_ONCE
NOBODY = "127.0.0.1:1"
SECONDS = 120


def environment(directory: Path, engine: str = "local") -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", engine)
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.epoch.max-records", "40")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def serializer(topic: str):
    builder = KafkaRecordSerializationSchema.builder()
    return builder.set_topic(topic).set_value_serialization_schema(SimpleStringSchema())


def sink_to(bootstrap: str, topic: str, guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
    builder = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_delivery_guarantee(guarantee)
    return builder.set_transactional_id_prefix(topic).set_record_serializer(serializer(topic).build())


def numbers(env: StreamExecutionEnvironment, count: int):
    return env.from_sequence(1, count).map(str, Types.STRING())


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_exactly_once_and_a_job_that_has_ended_publishes_nothing_more(kafka_broker, tmp_path, engine):
    topic = kafka_broker.create_topic(partitions=2)
    for _ in range(2):
        env = environment(tmp_path, engine)
        numbers(env, 200).sink_to(sink_to(kafka_broker.bootstrap, topic, EXACTLY_ONCE).build()).uid("out")
        env.execute_async("numbers").wait(SECONDS)
        assert values(kafka_broker.bootstrap, topic) == sorted(map(str, range(1, 201)))


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE])
def test_without_failures_the_other_guarantees_deliver_too(kafka_broker, tmp_path, guarantee):
    topic = kafka_broker.create_topic(partitions=2)
    env = environment(tmp_path)
    numbers(env, 200).sink_to(sink_to(kafka_broker.bootstrap, topic, guarantee).build())
    env.execute_async("numbers").wait(SECONDS)
    assert values(kafka_broker.bootstrap, topic) == sorted(map(str, range(1, 201)))


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_topics_keys_headers_partitions_and_timestamps_of_records(kafka_broker, tmp_path, guarantee):
    even, odd = kafka_broker.create_topic(partitions=3), kafka_broker.create_topic(partitions=1)
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(lambda value: odd if int(value) % 2 else even)
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .set_header_provider(lambda value: {"length": str(len(value)), "empty": None})
        .set_partitioner(lambda record, key, value, topic, partitions: int(record) // 2 % len(partitions))
        .build()
    )
    env = environment(tmp_path)
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, _: 1_000 + int(value))
    numbers(env, 12).assign_timestamps_and_watermarks(strategy).sink_to(
        sink_to(kafka_broker.bootstrap, even, guarantee).set_record_serializer(schema).build()
    )
    env.execute_async("all of a message").wait(SECONDS)

    def seen(topic: str) -> list[tuple[Any, ...]]:
        messages = read_topic(kafka_broker.bootstrap, topic)
        return sorted((int(m.value()), m.key(), m.partition(), m.timestamp()[1], m.headers()) for m in messages)

    def expected(number: int, partition: int) -> tuple[Any, ...]:
        text = str(number)
        return (number, text.encode(), partition, 1_000 + number, [("length", b"%d" % len(text)), ("empty", None)])

    assert seen(even) == [expected(number, number // 2 % 3) for number in range(2, 13, 2)]
    assert seen(odd) == [expected(number, 0) for number in range(1, 13, 2)]


def test_a_key_leads_to_the_partition_that_kafkas_java_client_chooses(kafka_broker, tmp_path):
    topic = kafka_broker.create_topic(partitions=4)
    env = environment(tmp_path)
    schema = serializer(topic).set_key_serialization_schema(SimpleStringSchema()).build()
    builder = sink_to(kafka_broker.bootstrap, topic, DeliveryGuarantee.AT_LEAST_ONCE).set_record_serializer(schema)
    words = ["a", "b", "c", "key", "penstock", "Zürich"]
    env.from_collection(words, Types.STRING()).sink_to(builder.build())
    env.execute_async("keys").wait(SECONDS)
    chosen = {message.value().decode(): message.partition() for message in read_topic(kafka_broker.bootstrap, topic)}
    assert chosen == {word: (murmur2(word.encode()) & 0x7FFFFFFF) % 4 for word in words}


def murmur2(data: bytes) -> int:
    """The hash of Kafka's default partitioner."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    result = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        part = int.from_bytes(data[start : start + 4], "little") * factor & mask
        part = (part ^ part >> 24) * factor & mask
        result = (result * factor & mask) ^ part
    if data[whole:]:
        result = (result ^ int.from_bytes(data[whole:], "little")) * factor & mask
    result = (result ^ result >> 13) * factor & mask
    return result ^ result >> 15


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
def test_without_output_nobody_is_called(tmp_path, guarantee):
    env = environment(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        bootstrap = f"127.0.0.1:{server.getsockname()[1]}"
        numbers(env, 100).filter(lambda _: False).sink_to(sink_to(bootstrap, "t", guarantee).build())
        env.execute_async("silent").wait(SECONDS)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_producers_live_from_epoch_to_epoch(kafka_broker, tmp_path, monkeypatch, guarantee):
    made = []
    make = MessageProducer.__init__

    def counted(producer, *arguments):
        made.append(producer)
        make(producer, *arguments)

    monkeypatch.setattr(MessageProducer, "__init__", counted)
    topic = kafka_broker.create_topic()
    env = environment(tmp_path)
    numbers(env, 200).sink_to(sink_to(kafka_broker.bootstrap, topic, guarantee).build())
    job = env.execute_async("numbers")
    job.wait(SECONDS)
    assert job.metrics()["epochs"] >= 5
    assert len(made) == 2, "one for each subtask"


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_brokers_that_do_not_answer_are_waited_for_and_then_named(tmp_path, guarantee):
    builder = sink_to(NOBODY, "t", guarantee).set_property("penstock.write.timeout.ms", "1500")
    builder.set_property("sasl.password", "much-too-secret")
    env = environment(tmp_path)
    numbers(env, 3).sink_to(builder.build())
    with pytest.raises(PenstockError, match=rf"(?s)SinkError|Kafka at {NOBODY} did not take") as failure:
        env.execute_async("nobody there").wait(SECONDS)
    assert NOBODY in str(failure.value)
    assert "much-too-secret" not in str(failure.value)


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_a_topic_that_does_not_exist_is_an_error_that_does_not_wait(kafka_broker, tmp_path, guarantee):
    builder = sink_to(kafka_broker.bootstrap, "nowhere", guarantee)
    builder.set_property("topic.metadata.propagation.max.ms", "200")
    env = environment(tmp_path)
    numbers(env, 3).sink_to(builder.build())
    started = time.monotonic()
    with pytest.raises(PenstockError, match=r"(?s)Unknown topic"):
        env.execute_async("no such topic").wait(SECONDS)
    assert time.monotonic() - started < 30


class Subtask:
    """One subtask of an exactly-once sink, staged and published by hand."""

    def __init__(self, broker: KafkaBroker, topic: str, directory: Path) -> None:
        self._sink = sink_to(broker.bootstrap, topic, EXACTLY_ONCE).build()
        self._storage = LocalCheckpointStorage(str(directory))

    def publisher(self):
        publisher = self._sink.create_publisher(PublisherContext("job", "uid", 0, 1, self._storage))
        assert publisher is not None
        return publisher

    def staged(self, number: int) -> tuple[EpochId, Any]:
        epoch = EpochId(1, number)
        writer = self._sink.create_writer(
            SinkWriterContext("job", "uid", 0, 1, epoch, self._storage, f"sinks/1/{number}-0-0")
        )
        writer.write(Batch(codec_for(Types.STRING()), values=[f"{number}a", f"{number}b"]))
        return epoch, writer.prepare_commit()


def test_two_that_publish_for_the_same_subtask_lock_each_other_out(kafka_broker, tmp_path):
    topic = kafka_broker.create_topic()
    subtask = Subtask(kafka_broker, topic, tmp_path)
    one, other = subtask.publisher(), subtask.publisher()
    one.publish(*subtask.staged(1))
    other.publish(*subtask.staged(1))
    other.publish(*subtask.staged(2))
    one.publish(*subtask.staged(2))
    one.publish(*subtask.staged(3))
    other.publish(*subtask.staged(1))
    assert values(kafka_broker.bootstrap, topic) == ["1a", "1b", "2a", "2b", "3a", "3b"]
    one.close()
    other.close()


def test_what_a_dead_publisher_has_begun_is_never_seen(kafka_broker, tmp_path, monkeypatch):
    topic = kafka_broker.create_topic()
    subtask = Subtask(kafka_broker, topic, tmp_path)
    dead = subtask.publisher()

    def die(name: str) -> None:
        if name == "sink.kafka.sent":
            raise KeyboardInterrupt

    monkeypatch.setattr("penstock.connectors.kafka.publisher.reach", die)
    with pytest.raises(KeyboardInterrupt):
        dead.publish(*subtask.staged(1))
    monkeypatch.undo()
    subtask.publisher().publish(*subtask.staged(1))
    assert values(kafka_broker.bootstrap, topic) == ["1a", "1b"]
