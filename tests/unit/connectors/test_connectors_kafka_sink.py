"""What can be said about a Kafka sink without a broker: builders, properties, serialization, staging."""

from __future__ import annotations

import pickle

import confluent_kafka
import pyarrow as pa
import pytest

from penstock.common import Row, SimpleStringSchema, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, TypeMismatchError, UnsupportedError
from penstock.common.serialization import ByteArraySchema, RowFieldExtractorSchema
from penstock.connectors.json.rows import JsonRowSerializationSchema
from penstock.connectors.kafka import (
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaTopicSelector,
)
from penstock.connectors.kafka.messages import Messages, pack_messages, sizes_of, unpack_messages
from penstock.connectors.kafka.producer import MessageProducer
from penstock.connectors.kafka.producer_properties import understood_by_producers
from penstock.connectors.kafka.published_epochs import to_epoch, to_offset
from penstock.connectors.sink import (
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    PublisherContext,
    SinkWriterContext,
)
from penstock.state.storage import LocalCheckpointStorage

PAIR = Types.TUPLE([Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.PRIMITIVE_ARRAY(Types.BYTE())])
SECRET = "much-too-secret"


def serializer(**calls):
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    builder.set_value_serialization_schema(SimpleStringSchema())
    for name, argument in calls.items():
        getattr(builder, name)(argument)
    return builder.build()


def sink_builder():
    return KafkaSink.builder().set_bootstrap_servers("broker:9092").set_record_serializer(serializer())


def strings(*values, timestamps=None):
    return Batch(codec_for(Types.STRING()), values=list(values), timestamps=timestamps)


def plain(serialized):
    return serialized.to_pylist() if isinstance(serialized, pa.Array) else list(serialized)


def messages(schema, batch, partitions=(0, 1, 2)):
    return schema.to_messages(batch, lambda _: list(partitions)).to_record_batch().to_pylist()


def test_a_record_becomes_a_message_of_the_topic():
    assert messages(serializer(), strings("a", "ö", timestamps=[5, -1])) == [
        {"topic": "t", "partition": None, "key": None, "value": b"a", "timestamp": 5, "headers": None},
        {"topic": "t", "partition": None, "key": None, "value": "ö".encode(), "timestamp": None, "headers": None},
    ]


def test_keys_headers_topics_and_partitions_come_from_the_record():
    class ByLength(KafkaPartitioner):
        def partition(self, record, key, value, target_topic, partitions):
            assert (key, value, partitions) == (record.encode(), record.encode(), [0, 1, 2])
            return len(record)

    class ByLetter(KafkaTopicSelector):
        def apply(self, data):
            return f"t-{data[0]}"

    schema = serializer(
        set_topic_selector=ByLetter(),
        set_key_serialization_schema=SimpleStringSchema(),
        set_header_provider=lambda record: {"first": record[0], "none": None, "raw": b"\x00"},
        set_partitioner=ByLength(),
    )
    assert schema.topic is None
    first, second = messages(schema, strings("a", "bc"))
    assert (first["topic"], first["partition"], first["key"]) == ("t-a", 1, b"a")
    assert first["headers"] == [
        {"name": "first", "value": b"a"},
        {"name": "none", "value": None},
        {"name": "raw", "value": b"\x00"},
    ]
    assert (second["topic"], second["partition"], second["value"]) == ("t-b", 2, b"bc")


def test_functions_do_for_selectors_and_partitioners():
    schema = serializer(
        set_topic_selector=lambda record: record, set_partitioner=lambda record, key, value, topic, partitions: 2
    )
    assert [(m["topic"], m["partition"]) for m in messages(schema, strings("x", "y"))] == [("x", 2), ("y", 2)]


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ({"set_topic_selector": lambda _: ""}, "returns the name of a topic, got ''"),
        ({"set_topic_selector": lambda _: 7}, "returns the name of a topic, got 7"),
        ({"set_partitioner": lambda *_: 3}, "chose partition 3 of topic t, which has 3"),
        ({"set_header_provider": lambda _: "name"}, "headers of a Kafka message"),
        ({"set_header_provider": lambda _: None}, "headers of a Kafka message"),
    ],
)
def test_what_a_function_returns_is_checked_and_the_record_named(calls, message):
    with pytest.raises(TypeMismatchError, match=message) as error:
        messages(serializer(**calls), strings("a", "b"))
    assert error.value.index == 0


def test_key_and_value_can_be_fields_of_a_row():
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    builder.set_key_serialization_schema(RowFieldExtractorSchema(0))
    schema = builder.set_value_serialization_schema(RowFieldExtractorSchema(1)).build()
    (message,) = messages(schema, Batch(codec_for(PAIR), values=[(b"k", b"v")]))
    assert (message["key"], message["value"]) == (b"k", b"v")


@pytest.mark.parametrize("columnar", [False, True])
def test_rows_become_json_all_at_once(columnar):
    type_info = Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()])
    batch = Batch(codec_for(type_info), values=[Row(n=1, s="a\nb"), Row(n=2, s=None)])
    if columnar:
        batch = Batch(batch.codec, columns=batch.columns)
    schema = JsonRowSerializationSchema.builder().with_type_info(type_info).build()
    assert list(schema.serialize_batch(batch)) == [schema.serialize(row) for row in batch.values]


@pytest.mark.parametrize("columnar", [False, True])
def test_strings_become_bytes_all_at_once(columnar):
    batch = strings("a", "ö")
    if columnar:
        batch = Batch(batch.codec, columns=batch.columns)
    assert plain(SimpleStringSchema().serialize_batch(batch)) == [b"a", "ö".encode()]
    assert plain(SimpleStringSchema("latin-1").serialize_batch(batch)) == [b"a", b"\xf6"]


@pytest.mark.parametrize("columnar", [False, True])
def test_bytes_stay_what_they_are_all_at_once(columnar):
    batch = Batch(codec_for(Types.PRIMITIVE_ARRAY(Types.BYTE())), values=[b"a", b"\xff\x00"])
    if columnar:
        batch = Batch(batch.codec, columns=batch.columns)
    assert plain(ByteArraySchema().serialize_batch(batch)) == [b"a", b"\xff\x00"]


def test_messages_come_back_from_their_bytes_and_the_same_give_the_same_bytes():
    one = serializer(set_topic_selector=lambda record: record).to_messages(strings("a", "b"), lambda _: [])
    two = serializer().to_messages(strings("c"), lambda _: [])
    batches = [one.to_record_batch(), two.to_record_batch()]
    packed = pack_messages(batches)
    assert packed == pack_messages(batches)
    unpacked = [message for batch in unpack_messages(packed) for message in batch.to_pylist()]
    assert unpacked == [message for batch in batches for message in batch.to_pylist()]


def produced(outgoing: Messages) -> list[tuple]:
    return list(zip(*outgoing.arguments(), strict=False))


def test_the_client_is_given_what_messages_have_and_no_more():
    assert produced(serializer().to_messages(strings("a", "b"), lambda _: [])) == [("t", b"a"), ("t", b"b")]
    full = serializer(
        set_topic_selector=lambda record: f"t-{record}",
        set_key_serialization_schema=SimpleStringSchema(),
        set_header_provider=lambda record: {"h": record},
        set_partitioner=lambda record, key, value, topic, partitions: 1,
    ).to_messages(strings("a", "b", timestamps=[5, -1]), lambda _: [0, 1])
    expected = [
        ("t-a", b"a", b"a", 1, None, None, 5, [("h", b"a")]),
        ("t-b", b"b", b"b", 1, None, None, 0, [("h", b"b")]),
    ]
    assert produced(full) == expected
    (staged,) = unpack_messages(pack_messages([full.to_record_batch()]))
    assert produced(Messages.of_staged(staged)) == expected


def test_a_client_that_is_full_gets_each_message_once(monkeypatch):
    class FullAtTimes:
        """Takes three messages, then is full until it is polled."""

        def __init__(self, *_, **__):
            self.taken, self.room = [], 3

        def poll(self, _):
            self.room = 3

        def produce(self, topic, value, key=None):
            if not self.room:
                raise BufferError
            self.room -= 1
            self.taken.append((topic, value, key))

    clients = []
    monkeypatch.setattr(confluent_kafka, "Producer", lambda *a, **k: clients.append(FullAtTimes()) or clients[-1])
    producer = MessageProducer(understood_by_producers({"bootstrap.servers": "broker:9092"}))
    sent = strings(*map(str, range(10)))
    for schema in (serializer(), serializer(set_key_serialization_schema=SimpleStringSchema())):
        clients[0].taken.clear()
        producer.send(schema.to_messages(sent, lambda _: []))
        assert [value for _, value, _ in clients[0].taken] == [str(n).encode() for n in range(10)]


def test_the_order_of_epochs_is_the_order_of_their_offsets():
    epochs = [EpochId(0, 0), EpochId(1, 1), EpochId(1, 1 << 39), EpochId(2, 5), EpochId(7, 6)]
    assert [to_epoch(to_offset(epoch)) for epoch in epochs] == epochs
    assert sorted(map(to_offset, epochs)) == list(map(to_offset, epochs))


@pytest.mark.parametrize(
    ("incomplete", "message"),
    [
        (lambda: KafkaSink.builder().set_record_serializer(serializer()).build(), "set_bootstrap_servers"),
        (lambda: KafkaSink.builder().set_bootstrap_servers("b").build(), "set_record_serializer"),
        (lambda: sink_builder().set_record_serializer(SimpleStringSchema()), r"builder\(\)...build\(\)"),
        (lambda: sink_builder().set_delivery_guarantee("exactly-once"), "a DeliveryGuarantee"),
        (lambda: sink_builder().set_transactional_id_prefix(""), "1 to 6400 bytes"),
        (lambda: sink_builder().set_property("transactional.id", "x").build(), "set_transactional_id_prefix"),
        (lambda: sink_builder().set_property("partitioner.class", "x").build(), "set_partitioner"),
        (lambda: sink_builder().set_property("penstock.write.timeout.ms", "0").build(), "a time above 0"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic(""), "a topic's name"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("t").build(), "set_value_serialization_schema"),
        (
            lambda: KafkaRecordSerializationSchema.builder().set_value_serialization_schema(ByteArraySchema()).build(),
            "set_topic_selector",
        ),
        (lambda: KafkaRecordSerializationSchema.builder().set_value_serialization_schema(str), "SimpleStringSchema"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic_selector("t"), "a function of a record"),
        (lambda: KafkaRecordSerializationSchema.builder().set_partitioner(3), "KafkaPartitioner or a function"),
        (lambda: KafkaRecordSerializationSchema.builder().set_header_provider({}), "a function of a record"),
    ],
)
def test_what_is_missing_or_wrong_is_named(incomplete, message):
    with pytest.raises(ConfigurationError, match=message):
        incomplete()


def test_properties_go_to_the_client_under_its_names():
    properties = understood_by_producers(
        {
            "bootstrap.servers": "b:1",
            "acks": "all",
            "max.request.size": "5000000",
            "key.serializer": "org.apache.kafka.StringSerializer",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'PlainLoginModule required username="u" password="{SECRET}";',
            "penstock.write.timeout.ms": "7000",
        }
    )
    plain = properties.producer_configuration(None)
    assert (plain["acks"], plain["message.max.bytes"], plain["sasl.password"]) == ("all", "5000000", SECRET)
    assert plain["message.timeout.ms"] == 7000
    assert not {"key.serializer", "transactional.id", "sasl.jaas.config", "penstock.write.timeout.ms"} & set(plain)
    in_transactions = properties.producer_configuration("id")
    assert (in_transactions["transactional.id"], in_transactions["enable.idempotence"]) == ("id", True)
    questions = properties.admin_configuration()
    assert questions["sasl.password"] == SECRET
    assert "acks" not in questions
    assert properties.group_configuration("g")["group.id"] == "g"


def test_secrets_are_not_printed():
    builder = sink_builder().set_property("sasl.password", SECRET).set_property("sasl.username", "u")
    sink = builder.build()
    for text in (repr(vars(sink)), str(sink), sink.describe()):
        assert SECRET not in text


def context_of(tmp_path):
    return SinkWriterContext("job", "uid", 0, 1, EpochId(1, 1), LocalCheckpointStorage(str(tmp_path)), "sinks/1/1-0-0")


def test_exactly_once_stages_and_leaves_publishing_to_tasks(tmp_path):
    sink = pickle.loads(pickle.dumps(sink_builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()))
    context = context_of(tmp_path)
    tokens = []
    for _ in range(2):
        writer = sink.create_writer(context)
        writer.write(strings())
        writer.write(strings("a", "b"))
        writer.write(strings("c"))
        tokens.append(writer.prepare_commit())
    (token,) = tokens[0]
    assert tokens[0] == tokens[1]
    assert token["records"] == 3
    staged = [m["value"] for batch in unpack_messages(context.storage.read(token["path"])) for m in batch.to_pylist()]
    assert staged == [b"a", b"b", b"c"]
    assert sink.create_publisher(PublisherContext("job", "uid", 0, 1, context.storage)) is not None
    assert sink.create_committer(CommitterContext("job", "uid", context.storage)) is not None


def test_messages_that_come_one_by_one_are_staged_together(tmp_path):
    """As in pipelined mode. Each in a batch of its own would have a thousand bytes around it."""
    sink = sink_builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    context = context_of(tmp_path)
    writer = sink.create_writer(context)
    values = [str(number) for number in range(1000)]
    for value in values:
        writer.write(strings(value))
    (token,) = writer.prepare_commit()
    content = context.storage.read(token["path"])
    assert len(content) < 20_000
    batches = list(unpack_messages(content))
    assert len(batches) < 10
    assert [m["value"].decode() for batch in batches for m in batch.to_pylist()] == values
    assert {m["topic"] for batch in batches for m in batch.to_pylist()} == {"t"}


def test_without_records_nothing_is_staged(tmp_path):
    sink = sink_builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    writer = sink.create_writer(context_of(tmp_path))
    writer.write(strings())
    assert writer.prepare_commit() == []


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE])
def test_other_guarantees_have_nothing_to_publish(tmp_path, guarantee):
    sink = sink_builder().set_delivery_guarantee(guarantee).build()
    assert sink.guarantee is guarantee
    storage = LocalCheckpointStorage(str(tmp_path))
    assert sink.create_publisher(PublisherContext("job", "uid", 0, 1, storage)) is None
    assert sink.create_committer(CommitterContext("job", "uid", storage)) is None
    assert sink_builder().build().guarantee is DeliveryGuarantee.NONE


def test_transactions_that_tasks_commit_by_themselves_are_refused():
    builder = sink_builder().set_property("penstock.commit.in.task", "true")
    with pytest.raises(UnsupportedError, match="an epoch that has failed is planned anew"):
        builder.build()


@pytest.mark.parametrize(
    ("key", "headers"),
    [(None, None), (b"k" * 200, None), (None, [("a", b"bcd")]), (b"kk", [("ä" * 100, b"x" * 70), ("b", None)])],
)
def test_what_is_staged_is_what_the_client_takes(key, headers):
    client = confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1", "message.max.bytes": 1000, "log_level": 0})

    def is_taken(size):
        try:
            client.produce("t", value=b"v" * size, key=key, headers=headers)
        except confluent_kafka.KafkaException:
            return False
        return True

    sizes = [size for size in range(300, 1000) if is_taken(size)]
    client.purge()
    one = Messages("t", [b"v" * max(sizes)], keys=[key], headers=[headers]).to_record_batch()
    assert sizes_of(one).to_pylist() == [1000]


def test_a_message_that_is_too_large_is_refused_before_it_is_staged(tmp_path):
    sink = sink_builder().set_property("max.request.size", "2000")
    sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    writer = sink.create_writer(context_of(tmp_path))
    writer.write(strings("a" * 1964))
    with pytest.raises(TypeMismatchError, match=r"takes 2001 bytes.*at most 2000.*max\.request\.size") as refusal:
        writer.write(strings("a", "a" * 1965))
    assert refusal.value.index == 1
