"""The Kafka source against a real broker."""

from __future__ import annotations

import json
import time

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from penstock.common.errors import SourceError
from penstock.common.typeinfo import Types
from penstock.connectors.deserialization import JsonDeserializationSchema, SimpleStringSchema
from penstock.connectors.kafka import (
    KafkaConsumerRecord,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
)
from penstock.connectors.source import EpochBudget, SplitRead
from services.kafka import KafkaBroker

pytestmark = pytest.mark.kafka

SMALL = EpochBudget(1, 1, 1)


def produce(broker: KafkaBroker, topic: str, *values: str | None, partition: int = 0, timestamp: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=partition, timestamp=timestamp)
        producer.poll(0)
    assert producer.flush(30) == 0


def transaction(broker: KafkaBroker, topic: str, *values: str, commit: bool = True) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"t-{time.monotonic_ns()}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(30)
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)


def source_of(broker: KafkaBroker, topic: str):
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema())
    )


def until(run, count: int, **limits: int) -> list[str]:
    """The records of as many epochs as it takes.

    A broker shows a committed transaction a moment later, and the first records behind a lull wait for more.
    """
    records: list[str] = []
    deadline = time.monotonic() + 30
    while len(records) < count and time.monotonic() < deadline:
        records += run.epoch(**limits)
    return records


@pytest.fixture
def start(run_source):
    runs = []

    def begin(builder, **options):
        runs.append(run_source(builder.build(), **options))
        return runs[-1]

    yield begin
    for run in runs:
        run.enumerator.close()
        run.reader.close()


def test_epochs_follow_the_topic_and_a_restart_goes_on(kafka_broker, start):
    topic = kafka_broker.create_topic()
    run = start(source_of(kafka_broker, topic))
    assert run.epoch() == []
    produce(kafka_broker, topic, "a", "b", None, "c")
    assert until(run, 3) == ["a", "b", "c"]
    produce(kafka_broker, topic, "d", "e")
    assert run.epoch(records=1) == ["d"]
    run.enumerator.close()
    run.restart()
    assert run.epoch() == ["e"]
    assert run.epoch() == []


def test_partitions_are_splits_with_their_order(kafka_broker, start):
    topic = kafka_broker.create_topic(partitions=3)
    for partition in range(3):
        produce(kafka_broker, topic, *(f"{partition}:{n:04d}" for n in range(2000)), partition=partition)
    run = start(source_of(kafka_broker, topic).set_bounded(KafkaOffsetsInitializer.latest()))
    values = [value for epoch in run.epochs(records=900) for value in epoch]
    for partition in range(3):
        own = [value for value in values if value.startswith(f"{partition}:")]
        assert own == [f"{partition}:{n:04d}" for n in range(2000)]
    assert sorted(run.finished_splits) == [f"{topic}-{partition}" for partition in range(3)]


def test_records_carry_the_timestamps_of_kafka(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", timestamp=1_700_000_000_000)
    run = start(source_of(kafka_broker, topic))
    budget = EpochBudget(10, 1000, 1)
    (read,) = run.enumerator.poll(0, budget)
    (batch,) = run.reader.read(read, budget)
    assert batch.timestamps == [1_700_000_000_000]


def test_json_becomes_rows_and_a_broken_record_is_named(kafka_broker, start):
    topic = kafka_broker.create_topic()
    type_info = Types.ROW_NAMED(["n"], [Types.LONG()])
    builder = source_of(kafka_broker, topic).set_value_only_deserializer(JsonDeserializationSchema(type_info))
    produce(kafka_broker, topic, *(json.dumps({"n": n}) for n in range(2000)))
    run = start(builder)
    assert [row.n for row in run.epoch()] == list(range(2000))
    produce(kafka_broker, topic, '{"n": 1}', '{"n": "x"}')
    with pytest.raises(SourceError, match=rf"(?s)topic {topic}, partition 0, offset 2001: .*whole number.*value: b'"):
        run.epoch()


def test_only_committed_transactions_are_read_and_gaps_do_not_matter(kafka_broker, start):
    topic = kafka_broker.create_topic()
    transaction(kafka_broker, topic, "a", "b")
    transaction(kafka_broker, topic, "never", commit=False)
    run = start(source_of(kafka_broker, topic))
    assert until(run, 2) == ["a", "b"]
    transaction(kafka_broker, topic, "c")
    transaction(kafka_broker, topic, "d", "e")
    # One offset at a time: some epochs read nothing but the mark of a transaction's end.
    assert until(run, 3, records=1) == ["c", "d", "e"]


def test_a_transaction_that_is_still_open_is_not_waited_for(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "before")
    open_one = Producer({"bootstrap.servers": kafka_broker.bootstrap, "transactional.id": "open-one"})
    open_one.init_transactions(30)
    open_one.begin_transaction()
    open_one.produce(topic, "open", partition=0)
    open_one.flush(30)
    produce(kafka_broker, topic, "after")
    run = start(source_of(kafka_broker, topic))
    assert run.epoch() == ["before"]
    assert run.epoch() == []
    open_one.commit_transaction(30)
    assert until(run, 2) == ["open", "after"]


def test_reading_uncommitted_records_can_be_asked_for(kafka_broker, start):
    topic = kafka_broker.create_topic()
    transaction(kafka_broker, topic, "aborted", commit=False)
    run = start(source_of(kafka_broker, topic).set_property("isolation.level", "read_uncommitted"))
    assert until(run, 1) == ["aborted"]


def test_starting_offsets(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "old", timestamp=1000)
    produce(kafka_broker, topic, "new", timestamp=2000)
    initializer = KafkaOffsetsInitializer

    def first_epoch(starting):
        return start(source_of(kafka_broker, topic).set_starting_offsets(starting)).epoch()

    assert first_epoch(initializer.earliest()) == ["old", "new"]
    assert first_epoch(initializer.latest()) == []
    assert first_epoch(initializer.timestamp(1500)) == ["new"]
    assert first_epoch(initializer.timestamp(3000)) == []
    assert first_epoch(initializer.offsets({KafkaTopicPartition(topic, 0): 1})) == ["new"]


def test_a_job_can_start_from_what_its_group_committed(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", "b", "c")
    committed = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)

    def with_group():
        return start(source_of(kafka_broker, topic).set_group_id(f"g-{topic}").set_starting_offsets(committed))

    run = with_group()
    assert run.epoch(records=2) == ["a", "b"]
    run.enumerator.poll(0, SMALL)
    # Closing waits for the commit under way.
    run.enumerator.close()
    assert with_group().epoch() == ["c"]


def test_topics_that_match_a_pattern_are_found_when_they_come(kafka_broker, start):
    stem = kafka_broker.create_topic()
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka_broker.bootstrap)
        .set_topic_pattern(f"{stem}-[0-9]+")
        .set_value_only_deserializer(bytes.decode, Types.STRING())
        .set_property("partition.discovery.interval.ms", "1000")
    )
    produce(kafka_broker, kafka_broker.create_topic(f"{stem}-1"), "one")
    produce(kafka_broker, kafka_broker.create_topic(f"{stem}-x"), "other")
    run = start(builder)
    assert run.epoch(now=0) == ["one"]
    produce(kafka_broker, kafka_broker.create_topic(f"{stem}-2"), "two")
    assert run.epoch(now=1000) == ["two"]


def delete_before(broker: KafkaBroker, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(30)


def test_records_that_kafka_deleted_before_they_were_read_are_an_error(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", "b", "c")
    run = start(source_of(kafka_broker, topic))
    assert run.epoch(records=1) == ["a"]
    run.reader.close()
    delete_before(kafka_broker, topic, 2)
    with pytest.raises(SourceError, match=rf"topic {topic}, partition 0, offset 1 .*auto.offset.reset"):
        run.epoch()


def test_the_user_may_choose_to_go_on_without_deleted_records(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", "b", "c")
    run = start(source_of(kafka_broker, topic).set_property("auto.offset.reset", "earliest"))
    assert run.epoch(records=1) == ["a"]
    run.reader.close()
    delete_before(kafka_broker, topic, 2)
    assert run.epoch() == ["c"]


def test_a_topic_that_does_not_exist_is_named(kafka_broker, start):
    with pytest.raises(SourceError, match=r"no topic nowhere: create it"):
        start(source_of(kafka_broker, "nowhere")).epoch()


def test_a_reader_that_gets_nothing_says_so_in_time(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a")
    run = start(source_of(kafka_broker, topic).set_property("penstock.read.timeout.ms", "500"))
    run.enumerator.poll(0, SMALL)
    missing = SplitRead(f"{topic}-0", 1, 5, {"topic": topic, "partition": 0})
    with pytest.raises(SourceError, match=rf"topic {topic}, partition 0, offset 1 at .*nothing came for 0.5 s"):
        list(run.reader.read(missing, SMALL))


def test_a_deserializer_sees_all_of_a_message(kafka_broker, start):
    topic = kafka_broker.create_topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    producer.produce(topic, b"v", b"k", partition=1, timestamp=1_000, headers=[("a", b"1"), ("none", None)])
    producer.produce(topic, None, None, partition=1, timestamp=2_000)
    assert producer.flush(30) == 0
    seen: list[KafkaConsumerRecord] = []

    class Twice(KafkaRecordDeserializationSchema):
        @property
        def produced_type(self):
            return Types.STRING()

        def deserialize(self, record):
            seen.append(record)
            return [] if record.value is None else [f"{record.timestamp}"] * 2

    source = source_of(kafka_broker, topic).set_deserializer(Twice()).build()
    reader = source.create_reader()
    (batch,) = reader.read(SplitRead(f"{topic}-1", 0, 2, {"topic": topic, "partition": 1}), SMALL)
    reader.close()
    assert (batch.values, batch.timestamps) == (["1000", "1000"], [1_000, 1_000])
    headers = [("a", b"1"), ("none", None)]
    assert seen == [
        KafkaConsumerRecord(topic, 1, 0, 1_000, b"k", b"v", headers),
        KafkaConsumerRecord(topic, 1, 1, 2_000, None, None, ()),
    ]


def offset_above_zero(record: KafkaConsumerRecord) -> int | None:
    return record.offset or None


def inverse_of_offset(record: KafkaConsumerRecord) -> int:
    return 1 // record.offset


def test_a_function_of_a_whole_message_that_fails_names_the_message(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", "b")
    run = start(source_of(kafka_broker, topic).set_deserializer(offset_above_zero, Types.LONG()))
    assert run.epoch() == [1]
    failing = start(source_of(kafka_broker, topic).set_deserializer(inverse_of_offset, Types.LONG()))
    with pytest.raises(SourceError, match=rf"(?s)topic {topic}, partition 0, offset 0: .*ZeroDivisionError"):
        failing.epoch()


def test_partitions_that_a_topic_gets_while_it_is_read_are_found(kafka_broker, start):
    topic = kafka_broker.create_topic()
    builder = source_of(kafka_broker, topic).set_property("partition.discovery.interval.ms", "1000")
    run = start(builder.set_starting_offsets(KafkaOffsetsInitializer.latest()))
    assert run.epoch(now=0) == []
    admin = AdminClient({"bootstrap.servers": kafka_broker.bootstrap})
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
    produce(kafka_broker, topic, "new", partition=1)
    assert run.epoch(now=999) == []
    assert until(run, 1, now=1000) == ["new"], "read from its beginning, wherever the others were started"
    assert list(run.enumerator.live_splits()) == [f"{topic}-0", f"{topic}-1"]


def test_what_was_read_is_committed_for_monitoring_unless_that_is_switched_off(kafka_broker, start):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", "b", "c")
    for commits in ("true", "false"):
        builder = source_of(kafka_broker, topic).set_group_id(f"{topic}-{commits}")
        run = start(builder.set_property("commit.offsets.on.checkpoint", commits))
        assert run.epoch(records=2) == ["a", "b"]
        run.epoch(records=1)
        run.enumerator.close()
        consumer = Consumer({"bootstrap.servers": kafka_broker.bootstrap, "group.id": f"{topic}-{commits}"})
        (committed,) = consumer.committed([TopicPartition(topic, 0)], timeout=30)
        consumer.close()
        assert committed.offset == (2 if commits == "true" else OFFSET_INVALID)


def delete_topic(broker: KafkaBroker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_topics([topic])[topic].result(30)
    deadline = time.monotonic() + 30
    while topic in admin.list_topics(timeout=10).topics:
        assert time.monotonic() < deadline


@pytest.mark.parametrize("restarts", [False, True])
def test_a_topic_that_was_made_again_is_not_waited_for_until_it_is_as_long(kafka_broker, start, restarts):
    topic = kafka_broker.create_topic()
    produce(kafka_broker, topic, "a", "b", "c")
    builder = source_of(kafka_broker, topic).set_property("auto.offset.reset", "earliest")
    run = start(builder)
    assert run.epoch() == ["a", "b", "c"]
    delete_topic(kafka_broker, topic)
    kafka_broker.create_topic(topic)
    produce(kafka_broker, topic, "d")
    if restarts:
        run.restart()
    assert until(run, 1) == ["d"]


def test_a_deleted_topic_ends_where_a_pattern_or_a_changed_list_leaves_it_out_and_is_named_elsewhere(
    kafka_broker, start
):
    kept = kafka_broker.create_topic()
    deleted = kafka_broker.create_topic(f"{kept}-old")
    produce(kafka_broker, kept, "a")
    produce(kafka_broker, deleted, "b")

    def reading(set_topics):
        builder = KafkaSource.builder().set_bootstrap_servers(kafka_broker.bootstrap)
        builder.set_value_only_deserializer(SimpleStringSchema()).set_property("penstock.read.timeout.ms", "2000")
        return start(set_topics(builder).set_property("partition.discovery.interval.ms", "1000000"))

    by_pattern = reading(lambda builder: builder.set_topic_pattern(f"{kept}.*"))
    by_names = reading(lambda builder: builder.set_topics(kept, deleted))
    assert sorted(by_pattern.epoch(now=0)) == sorted(by_names.epoch(now=0)) == ["a", "b"]
    delete_topic(kafka_broker, deleted)
    produce(kafka_broker, kept, "c")
    with pytest.raises(SourceError, match=f"was the topic {deleted} deleted"):
        by_names.epoch(now=1)
    by_other_names = reading(lambda builder: builder.set_topics(kept))
    by_other_names.state = by_names.state
    runs = by_pattern, by_other_names
    for run in runs:
        run.restart()
    assert [until(run, 1, now=2) for run in runs] == [["c"], ["c"]]
    produce(kafka_broker, kept, "d")
    assert [until(run, 1, now=10_002) for run in runs] == [["d"], ["d"]]
    assert [run.finished_splits for run in runs] == [[f"{deleted}-0"]] * 2
