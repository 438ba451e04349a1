"""A split whose records wait behind those of another is not silent, however long that takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest
from confluent_kafka import Producer

from kafka.sending import Sender, partition_of, records
from penstock.common import WatermarkStrategy
from penstock.common.batch import Batch
from penstock.connectors.deserialization import SimpleStringSchema
from penstock.connectors.live_source import LiveReader
from penstock.connectors.source import Json, SplitRead
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.window import TumblingEventTimeWindows
from pipelined import list_source
from pipelined.list_source import PAIRS, ListSource, timed
from pipelined.local_pipelined import environment
from services.kafka import KafkaBroker

SECONDS = 60
COUNT = 40


class OneBehindTheOther(ListSource):
    """A queue in which all records of the first split come before those of the second."""

    def create_live_reader(self) -> LiveReader:
        return _Queue(self)


class _Queue(LiveReader):
    def __init__(self, source: ListSource) -> None:
        self._source = source

    def follow(self, reads: Sequence[SplitRead]) -> None:
        self._reads = reads
        self._positions = [read.start for read in reads]

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:
        place = next(place for place in range(len(self._reads)) if not self.finished(place))
        start = self._positions[place]
        self._positions[place] += 1
        list_source.time.sleep(0.01)
        return [(place, self._source.batch(self._reads[place].split_id, start, start + 1))]

    def position(self, place: int) -> Json:
        return self._positions[place]

    def finished(self, place: int) -> bool:
        return self._positions[place] == self._reads[place].end

    def has_more(self, place: int) -> bool:
        return not self.finished(place)


@pytest.mark.usefixtures("virtual_time")
def test_nothing_is_too_late_because_it_has_waited_behind_others() -> None:
    env = environment("pipelined", execution__pipelined__epoch="1 h").set_parallelism(1)
    splits = [timed([(f"split-{split}", number) for number in range(COUNT)]) for split in range(2)]
    windows = (
        env.from_source(
            OneBehindTheOther(*splits, record_type=PAIRS),
            WatermarkStrategy.for_monotonous_timestamps().with_idleness("100 ms"),
            "pairs",
        )
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(1000))
        .reduce(lambda left, right: left)
    )
    assert sorted(windows.execute_and_collect()) == sorted(value for split in splits for value, _ in split)


def slow_for_one_split(pair: tuple[str, int]) -> tuple[str, int]:
    if pair[0] == "split-1":
        list_source.time.sleep(0.3)
    return pair


@pytest.mark.usefixtures("virtual_time")
def test_nothing_is_too_late_because_a_function_was_slow() -> None:
    env = environment("pipelined", execution__pipelined__epoch="1 h")
    splits = [timed([(f"split-{split}", number) for number in range(COUNT)]) for split in range(2)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: 1000 * pair[1])
    windows = (
        env.from_source(ListSource(*splits, record_type=PAIRS, per_epoch=COUNT, per_poll=1), None, "pairs")
        .map(lambda pair: pair, PAIRS)
        .assign_timestamps_and_watermarks(strategy.with_idleness("100 ms"))
        .map(slow_for_one_split, PAIRS)
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(1000))
        .reduce(lambda left, right: left)
    )
    assert sorted(windows.execute_and_collect()) == sorted(value for split in splits for value, _ in split)


def test_what_nobody_is_to_see_of_a_topic_does_not_wait_to_be_read(kafka_broker: KafkaBroker) -> None:
    """Jobs in a row lag behind for ever otherwise: a topic that is written exactly once ends with a mark."""
    topic = kafka_broker.create_topic()
    settings = {"bootstrap.servers": kafka_broker.bootstrap, "transactional.id": topic, "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(SECONDS)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(topic, "a")
        producer.flush(SECONDS)
        end(SECONDS)
    builder = KafkaSource.builder().set_bootstrap_servers(kafka_broker.bootstrap).set_topics(topic)
    reader = builder.set_value_only_deserializer(SimpleStringSchema()).build().create_live_reader()
    reader.follow([SplitRead(f"{topic}-0", 0, None, {"topic": topic, "partition": 0})])
    deadline = time.monotonic() + SECONDS
    given = 0
    while reader.position(0)["offset"] < 4:
        assert time.monotonic() < deadline, reader.position(0)
        given += sum(len(batch) for _, batch in reader.poll(0.1))
    assert given == 1
    reader.close()


def test_a_topic_knows_what_waits_and_that_nothing_does(kafka_broker: KafkaBroker) -> None:
    topic = kafka_broker.create_topic(partitions=3)
    sender = Sender(kafka_broker.bootstrap, topic)
    sender.send(records(0, COUNT))
    builder = KafkaSource.builder().set_bootstrap_servers(kafka_broker.bootstrap).set_topics(topic)
    reader = builder.set_value_only_deserializer(SimpleStringSchema()).build().create_live_reader()
    reader.follow([SplitRead(f"{topic}-{n}", 0, None, {"topic": topic, "partition": n}) for n in range(3)])
    assert all(map(reader.has_more, range(3))), "nothing is known before the broker has answered"
    reader.most_records = 1
    deadline = time.monotonic() + SECONDS
    given = 0
    while not given:
        assert time.monotonic() < deadline
        given = sum(len(batch) for _, batch in reader.poll(0.1))
    assert reader.has_more(0)
    assert reader.has_more(1)
    reader.most_records = COUNT
    while given < COUNT or any(map(reader.has_more, range(3))):
        assert time.monotonic() < deadline, "in the third partition there was never anything"
        given += sum(len(batch) for _, batch in reader.poll(0.1))
    assert reader.poll(0.1) == []
    ((key, _),) = one_more = records(COUNT, 1)
    sender.send(one_more)
    while not reader.has_more(partition_of(key)):
        assert time.monotonic() < deadline, "it has come since, while the task was busy with something else"
        threading.Event().wait(0.01)
    reader.close()
