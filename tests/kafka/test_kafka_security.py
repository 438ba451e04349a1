"""Brokers that ask for a password or a certificate, and brokers that do not answer at all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka.reading import values
from penstock.common import Configuration, SimpleStringSchema
from penstock.common.errors import JobExecutionException
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from services.running import running
from services.secure_kafka import PASSWORD, SecureKafkaBroker
from services.silent_proxy import SilentProxy

pytestmark = pytest.mark.kafka

WRONG = "wrong-and-secret"
GUARANTEES = [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafkaBroker]:
    with running(SecureKafkaBroker(tmp_path_factory.mktemp("secure-kafka"))) as server:
        yield server


def filled_topic(broker: SecureKafkaBroker) -> str:
    topic = broker.create_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in ("a", "b", "c"):
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    return topic


def source_of(topic: str, properties: Mapping[str, str]) -> KafkaSource:
    return (
        KafkaSource.builder()
        .set_properties(properties)
        .set_topics(topic)
        .set_group_id("readers")
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def sink_to(topic: str, properties: Mapping[str, str], guarantee: DeliveryGuarantee) -> KafkaSink:
    builder = KafkaSink.builder()
    for name, value in properties.items():
        builder = builder.set_property(name, value)
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return builder.set_record_serializer(serializer).set_delivery_guarantee(guarantee).build()


def environment(directory: Path) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    return StreamExecutionEnvironment.get_execution_environment(configuration)


@pytest.mark.parametrize("listener", ["scram", "tls"])
def test_a_job_reads_and_writes_through_a_protected_listener(
    broker: SecureKafkaBroker, tmp_path: Path, listener: str
) -> None:
    source, target = filled_topic(broker), broker.create_topic()
    env = environment(tmp_path)
    properties = broker.properties(listener)
    env.from_source(source_of(source, properties)).sink_to(
        sink_to(target, properties, DeliveryGuarantee.EXACTLY_ONCE)
    ).uid("sink")
    assert PASSWORD not in env.explain()
    env.execute()
    assert values(broker.bootstrap, target) == ["a", "b", "c"]


def failure_of(env: StreamExecutionEnvironment) -> tuple[str, float]:
    """What the job dies of, with all causes, and after how many seconds."""
    started = time.monotonic()
    with pytest.raises(JobExecutionException) as caught:
        env.execute()
    told: list[str] = []
    problem: BaseException | None = caught.value
    while problem is not None:
        told.append(str(problem))
        problem = problem.__cause__
    return "\n".join(told), time.monotonic() - started


def test_a_wrong_password_is_an_error_at_once_and_is_not_shown(broker: SecureKafkaBroker, tmp_path: Path) -> None:
    jobs = [environment(tmp_path / name) for name in ("scram", "tls", *(each.value for each in GUARANTEES))]
    for env, listener in zip(jobs, ("scram", "tls"), strict=False):
        wrong = {**broker.properties(listener, WRONG), "penstock.read.timeout.ms": "3000"}
        env.from_source(source_of(filled_topic(broker), wrong)).print()
    for env, guarantee in zip(jobs[2:], GUARANTEES, strict=True):
        wrong = {**broker.properties("scram", WRONG), "penstock.write.timeout.ms": "4000"}
        env.from_collection(["x"]).sink_to(sink_to(broker.create_topic(), wrong, guarantee)).uid("sink")
    for env in jobs:
        told, _ = failure_of(env)
        assert "authentication" in told.lower(), told
        assert WRONG not in told


def test_a_certificate_that_nobody_trusts_is_an_error_at_once(broker: SecureKafkaBroker, tmp_path: Path) -> None:
    properties = {**broker.properties("tls"), "penstock.read.timeout.ms": "3000"}
    del properties["ssl.ca.location"]
    env = environment(tmp_path)
    env.from_source(source_of(filled_topic(broker), properties)).print()
    told, _ = failure_of(env)
    assert "certificate" in told.lower(), told


def proxied(proxy: SilentProxy, **properties: str) -> dict[str, str]:
    return {"bootstrap.servers": f"127.0.0.1:{proxy.port}", **{k.replace("__", "."): v for k, v in properties.items()}}


def test_connections_on_which_nobody_answers_end_in_an_error(broker: SecureKafkaBroker, tmp_path: Path) -> None:
    topic = filled_topic(broker)
    with SilentProxy(broker.behind_proxy, broker.of_proxy) as proxy:
        times = proxied(proxy, penstock__read__timeout__ms="3000", socket__timeout__ms="1000")
        env = environment(tmp_path / "before")
        env.from_source(source_of(topic, times)).print()
        env.execute()
        assert proxy.connections, "the job has gone another way"
        proxy.swallows = True
        env = environment(tmp_path / "source")
        env.from_source(source_of(topic, times)).print()
        told, seconds = failure_of(env)
        assert f"Kafka at 127.0.0.1:{proxy.port}" in told
        assert seconds < 30
        for guarantee in GUARANTEES:
            env = environment(tmp_path / guarantee.value)
            write = proxied(proxy, penstock__write__timeout__ms="4000", socket__timeout__ms="1000")
            env.from_collection(["x"]).sink_to(sink_to(topic, write, guarantee)).uid("sink")
            told, seconds = failure_of(env)
            assert f"127.0.0.1:{proxy.port}" in told, told
            assert seconds < 45
