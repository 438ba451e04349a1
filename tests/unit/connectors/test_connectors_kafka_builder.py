"""What can be said about a Kafka source without a broker: its builder, its properties, its offsets."""

from __future__ import annotations

import builtins
import pickle

import pytest

from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError, SourceError
from penstock.common.typeinfo import Types
from penstock.connectors.deserialization import (
    ByteArraySchema,
    DeserializationError,
    JsonDeserializationSchema,
    SimpleStringSchema,
)
from penstock.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
)
from penstock.connectors.kafka.producer_properties import understood_by_producers
from penstock.connectors.kafka.properties import understood
from penstock.connectors.source import Boundedness


def builder():
    return KafkaSource.builder().set_bootstrap_servers("broker:9092").set_value_only_deserializer(SimpleStringSchema())


def test_a_complete_builder_makes_a_source():
    source = builder().set_topics("a", "b").set_group_id("g").build()
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert source.produced_type == Types.STRING()
    assert source.describe() == "Kafka a, b"


def test_set_bounded_and_set_unbounded_differ_in_what_the_source_says():
    stop = KafkaOffsetsInitializer.latest()
    assert builder().set_topics("a").set_bounded(stop).build().boundedness is Boundedness.BOUNDED
    assert builder().set_topics("a").set_unbounded(stop).build().boundedness is Boundedness.CONTINUOUS_UNBOUNDED


@pytest.mark.parametrize(
    ("incomplete", "message"),
    [
        (KafkaSource.builder().set_topics("a").set_value_only_deserializer(bytes.decode), "set_bootstrap_servers"),
        (builder(), "set_topics"),
        (KafkaSource.builder().set_bootstrap_servers("b").set_topics("a"), "set_value_only_deserializer"),
        (builder().set_topics("a").set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()), "set_group_id"),
        (builder().set_topics("a").set_property("ssl.truststore.location", "x"), "ssl.ca.location"),
        (builder().set_topics("a").set_property("isolation.level", "dirty"), "read_committed, read_uncommitted"),
        (builder().set_topics("a").set_property("partition.discovery.interval.ms", "soon"), "is a number"),
    ],
)
def test_what_is_missing_or_wrong_is_named(incomplete, message):
    with pytest.raises(ConfigurationError, match=message):
        incomplete.build()


def test_mistakes_that_can_be_seen_at_once_are_raised_at_once():
    with pytest.raises(ConfigurationError, match="exclude each other"):
        builder().set_topics("a").set_topic_pattern("b.*")
    with pytest.raises(ConfigurationError, match="regular expression"):
        builder().set_topic_pattern("(")
    with pytest.raises(ConfigurationError, match="names of topics"):
        builder().set_topics()
    with pytest.raises(ConfigurationError, match="at least one"):
        builder().set_partitions(set())
    with pytest.raises(ConfigurationError, match="a deserializer is a schema"):
        builder().set_value_only_deserializer("utf-8")
    with pytest.raises(ConfigurationError, match="leave type_info out"):
        builder().set_value_only_deserializer(SimpleStringSchema(), Types.STRING())
    with pytest.raises(ConfigurationError, match="a deserializer of whole messages"):
        builder().set_deserializer(SimpleStringSchema())


def test_secrets_are_not_printed():
    source = builder().set_topics("a").set_property("sasl.password", "much-too-secret").build()
    for text in (repr(vars(source)), str(source), source.describe()):
        assert "much-too-secret" not in text


def test_a_secret_of_the_environment_is_read_where_a_client_is_made(monkeypatch):
    jaas = 'org.PlainLoginModule required username="me" password="${env:KAFKA_PASSWORD}";'
    given = {"bootstrap.servers": "b:1", "sasl.jaas.config": jaas}
    source, sink = understood(given), understood_by_producers(given)
    monkeypatch.setenv("KAFKA_PASSWORD", "much-too-secret")
    assert b"much-too-secret" not in pickle.dumps((source, sink))
    made = [
        source.consumer_configuration(), source.admin_configuration(),
        sink.producer_configuration(None), sink.admin_configuration(), sink.group_configuration("g"),
    ]  # fmt: skip
    assert {configuration["sasl.password"] for configuration in made} == {"much-too-secret"}
    monkeypatch.delenv("KAFKA_PASSWORD")
    with pytest.raises(ConfigurationError, match=r"sasl\.password .* KAFKA_PASSWORD, which is not set here"):
        source.consumer_configuration()


def test_without_the_client_library_the_error_says_what_to_install(monkeypatch):
    imported = builtins.__import__

    def without_kafka(name, *arguments, **keywords):
        if name.startswith("confluent_kafka"):
            raise ImportError(name)
        return imported(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_kafka)
    with pytest.raises(EnvironmentNotReadyError, match=r"pip install 'penstock\[kafka\]'"):
        builder().set_topics("a").build()


def test_properties_of_the_java_client_are_translated():
    properties = understood(
        {
            "bootstrap.servers": "b:1",
            "fetch.max.wait.ms": "7",
            "key.deserializer": "org.example.Foo",
            "max.poll.records": "500",
            "sasl.jaas.config": 'org.PlainLoginModule required username="me" password="it\'s";',
            "security.protocol": "SASL_SSL",
            "client.id.prefix": "mine",
            "auto.offset.reset": "EARLIEST",
        }
    )
    consumer = properties.consumer_configuration()
    assert consumer["fetch.wait.max.ms"] == "7"
    assert (consumer["sasl.username"], consumer["sasl.password"]) == ("me", "it's")
    assert consumer["client.id"] == "mine"
    assert consumer["auto.offset.reset"] == "earliest"
    assert not {"key.deserializer", "max.poll.records", "sasl.jaas.config", "client.id.prefix"} & consumer.keys()
    assert "fetch.wait.max.ms" not in properties.admin_configuration()
    assert properties.admin_configuration()["security.protocol"] == "SASL_SSL"


def test_the_defaults_lose_nothing():
    consumer = understood({"bootstrap.servers": "b:1", "enable.auto.commit": "true"}).consumer_configuration()
    assert consumer["isolation.level"] == "read_committed"
    assert consumer["auto.offset.reset"] == "error"
    assert consumer["enable.auto.commit"] is False


P0, P1 = KafkaTopicPartition("t", 0), KafkaTopicPartition("t", 1)


class Log:
    """A broker whose partitions hold the offsets 10 to 20 and whose group has committed 15 in the first."""

    def earliest(self, partitions):
        return dict.fromkeys(partitions, 10)

    def latest(self, partitions):
        return dict.fromkeys(partitions, 20)

    def at_timestamp(self, partitions, timestamp):
        return dict.fromkeys(partitions, timestamp)

    def committed(self, partitions):
        return {each: 15 for each in partitions if each == P0}


EARLIEST, LATEST = KafkaOffsetResetStrategy.EARLIEST, KafkaOffsetResetStrategy.LATEST
Initializer = KafkaOffsetsInitializer


@pytest.mark.parametrize(
    ("initializer", "starts"),
    [
        (Initializer.earliest(), {P0: 10, P1: 10}),
        (Initializer.latest(), {P0: 20, P1: 20}),
        (Initializer.timestamp(12), {P0: 12, P1: 12}),
        (Initializer.committed_offsets(EARLIEST), {P0: 15, P1: 10}),
        (Initializer.committed_offsets(LATEST), {P0: 15, P1: 20}),
        (Initializer.offsets({P0: 11, P1: 20}), {P0: 11, P1: 20}),
        (Initializer.offsets({P1: 5}), {P0: 15, P1: 10}),
        (Initializer.offsets({P0: 11, P1: 21}, LATEST), {P0: 11, P1: 20}),
    ],
)
def test_where_each_partition_starts(initializer, starts):
    assert initializer.starts(Log(), [P0, P1], has_group=True) == starts


def test_offsets_that_do_not_exist_are_an_error_without_a_strategy():
    none = KafkaOffsetResetStrategy.NONE
    with pytest.raises(SourceError, match="no offset is committed for t-1, which holds 10 to 20"):
        Initializer.committed_offsets().starts(Log(), [P0, P1], has_group=True)
    with pytest.raises(SourceError, match="offset 9 does not exist for t-0"):
        Initializer.offsets({P0: 9}, none).starts(Log(), [P0], has_group=False)
    with pytest.raises(SourceError, match="no stopping offset is given for t-1"):
        Initializer.offsets({P0: 9}).stops(Log(), [P0, P1])


def test_messages_become_records_and_those_without_a_value_are_skipped():
    batch = SimpleStringSchema().to_batch([b"a", None, "ü".encode()], [1, 2, None])
    assert (batch.values, batch.timestamps) == (["a", "ü"], [1, None])
    assert SimpleStringSchema("latin-1").to_batch([b"\xfc"], [1]).values == ["ü"]
    assert ByteArraySchema().to_batch([b"\x00", None], [1, 2]).values == [b"\x00"]


def test_a_message_that_cannot_be_understood_is_counted_among_all():
    schema = JsonDeserializationSchema(Types.ROW_NAMED(["n"], [Types.LONG()]))
    assert [row.n for row in schema.to_batch([b'{"n": 1}', None, b'{"n":2}'], [1, 2, 3]).values] == [1, 2]
    with pytest.raises(DeserializationError, match='"x" is not a whole number') as caught:
        schema.to_batch([None, b'{"n": 1}', b'{"n": "x"}'], [1, 2, 3])
    assert caught.value.index == 2
    with pytest.raises(DeserializationError, match="not in the charset utf-8") as caught:
        SimpleStringSchema().to_batch([b"a", None, b"\xff"], [1, 2, 3])
    assert caught.value.index == 2
