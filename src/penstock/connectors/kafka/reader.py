"""Reads offsets of partitions in a task."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from penstock.common.batch import Batch
from penstock.common.errors import SourceError
from penstock.connectors.batches import MAX_BATCH_RECORDS
from penstock.connectors.broken_records import FAIL, BrokenRecords, OnError
from penstock.connectors.deserialization import DeserializationError
from penstock.connectors.kafka.client import client_log, confluent_kafka
from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.kafka.record_deserialization import KafkaRecordDeserializationSchema
from penstock.connectors.source import EpochBudget, SplitRead, SplitReader
from penstock.connectors.tolerant_reading import tolerant_batches

_MAX_BATCH_BYTES = 8 << 20
_MAX_DRAIN = 10_000
_PATIENCE_SECONDS = 1.0


class KafkaReader(SplitReader):
    """One consumer, kept between epochs: when a read goes on where the last one ended, nothing is asked again."""

    def __init__(
        self, properties: KafkaProperties, deserializer: KafkaRecordDeserializationSchema, on_error: OnError = FAIL
    ) -> None:
        self._properties = properties
        self._broken_records = self.broken_records = BrokenRecords(on_error)
        self._deserializer = deserializer
        self._kafka = confluent_kafka()
        self._consumer: Any = None
        self._last_problem = ""
        self._is_at: tuple[str, int, int] | None = None
        """Topic, partition and offset that the consumer goes on with; None when that is not known."""
        self._ahead: list[Any] = []
        """Messages that came in with the last ones of a read but belong to the next."""

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        """The records with start <= offset < end; where the end was left open, those that are there now."""
        topic: str = read.descriptor["topic"]
        partition: int = read.descriptor["partition"]
        self._move_to(topic, partition, read.start)
        end: int = self._latest(topic, partition) if read.end is None else read.end
        records = 0
        size = 0
        for messages, their_size in self._until(end, topic, partition, read.start):
            records += len(messages)
            size += their_size
            yield from self.deserialized(messages)
        self._is_at = (topic, partition, end)
        self.position = {"offset": end, "records": records, "bytes": size}
        self.finished = read.finishes

    def close(self) -> None:
        """Lets go of the consumer."""
        self._is_at = None
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def assign(self, partitions: Iterable[tuple[str, int, int]]) -> None:
        """Makes the consumer go on with (topic, partition, offset), and with nothing else."""
        if self._consumer is None:
            configuration = {**self._properties.consumer_configuration(), "error_cb": self._note_problem}
            self._consumer = self._kafka.Consumer(configuration, logger=client_log)
        self._ahead = []
        self._consumer.assign([self._kafka.TopicPartition(*each) for each in partitions])

    def take(self, seconds: float, most: int) -> list[Any]:
        """Waits that long for one message or event, and takes with it what has arrived already."""
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        return [first, *self._consumer.consume(most - 1, 0)] if most > 1 else [first]

    def known_end(self, topic: str, partition: int) -> int | None:
        """Where a partition ends, as brokers said when they last sent something of it; None: they have not yet."""
        end: int = self._consumer.get_watermark_offsets(self._kafka.TopicPartition(topic, partition), cached=True)[1]
        return end if end >= 0 else None

    def _move_to(self, topic: str, partition: int, offset: int) -> None:
        if self._is_at != (topic, partition, offset):
            self.assign([(topic, partition, offset)])
        # Not known again until the read has ended well.
        self._is_at = None

    def _latest(self, topic: str, partition: int) -> int:
        place = self._kafka.TopicPartition(topic, partition)
        return self._consumer.get_watermark_offsets(place, self._properties.read_timeout_ms / 1000)[1]

    def _until(self, end: int, topic: str, partition: int, offset: int) -> Iterator[tuple[list[Any], int]]:
        """Messages in batches, and how many bytes they have.

        Offsets may have gaps: control records, aborted transactions, compaction.
        """
        collected: list[Any] = []
        size = 0
        deadline = self._deadline()
        while offset < end:
            arrived = self._arrived(end - offset)
            if arrived:
                deadline = self._deadline()
            elif time.monotonic() > deadline:
                raise self._stuck(topic, partition, offset, end)
            records = arrived
            # Called as functions of the class, by map: no Python per message.
            if any(map(self._kafka.Message.error, arrived)):
                events = [message for message in arrived if message.error() is not None]
                records = [message for message in arrived if message.error() is None]
                ends = [event.offset() for event in events if self.is_end(event, topic, partition, offset)]
                if max(ends, default=-1) >= end:
                    offset = end
            if records:
                if records[-1].offset() >= end:
                    self._ahead = [message for message in records if message.offset() >= end]
                    records = [message for message in records if message.offset() < end]
                    offset = end
                else:
                    offset = max(offset, records[-1].offset() + 1)
            if len(collected) + len(records) > MAX_BATCH_RECORDS or size >= _MAX_BATCH_BYTES:
                if collected:
                    yield collected, size
                collected, size = [], 0
            collected += records
            size += sum(map(len, records))
        if collected:
            yield collected, size

    def _arrived(self, wanted: int) -> list[Any]:
        """Waits for one message and takes with it what has arrived already: no waiting for a full batch."""
        if self._ahead:
            arrived, self._ahead = self._ahead, []
            return arrived
        return self.take(_PATIENCE_SECONDS, min(wanted, _MAX_DRAIN))

    def is_end(self, message: Any, topic: str, partition: int, offset: int) -> bool:
        """True for the message that says the partition's end is reached; raises for all that are errors."""
        error = message.error()
        if error.code() == self._kafka.KafkaError._PARTITION_EOF:
            return True
        where = f"Kafka topic {topic}, partition {partition}, offset {offset} at {self._properties.bootstrap_servers}"
        if error.code() in (self._kafka.KafkaError._AUTO_OFFSET_RESET, self._kafka.KafkaError.OFFSET_OUT_OF_RANGE):
            raise SourceError(
                f"{where}: these records do not exist any more; Kafka deleted them before the job had read them. "
                "To go on without them set the property auto.offset.reset to earliest (or latest)"
            )
        raise SourceError(f"{where}: {error.str()}")

    def deserialized(self, messages: list[Any]) -> Iterator[Batch]:
        """The records of some messages."""
        kinds, stamps = zip(*map(self._kafka.Message.timestamp, messages), strict=True)
        timestamps: Sequence[int | None] = stamps
        if self._kafka.TIMESTAMP_NOT_AVAILABLE in kinds:
            timestamps = [stamp if kind else None for kind, stamp in zip(kinds, stamps, strict=True)]
        to_batch = self._deserializer.to_batch
        if self._broken_records.is_tolerant:
            batches, broken = tolerant_batches(to_batch, messages, timestamps)
            for place, reason in broken:
                self._broken_records.add(messages[place].value(), _position_of(messages[place]), reason)
            yield from batches
            return
        try:
            yield to_batch(messages, timestamps)
        except DeserializationError as problem:
            message = messages[problem.index]
            shown = repr(message.value())
            raise SourceError(
                f"{_position_of(message)}: the record cannot be deserialized: {problem.reason}\n"
                f"  value: {shown if len(shown) <= 300 else shown[:300] + '...'}"
            ) from problem.__cause__  # what the user's own function raised

    def _deadline(self) -> float:
        return time.monotonic() + self._properties.read_timeout_ms / 1000

    def _note_problem(self, error: Any) -> None:
        self._last_problem = f" ({error.str()})"

    def _stuck(self, topic: str, partition: int, offset: int, end: int) -> SourceError:
        return SourceError(
            f"Kafka topic {topic}, partition {partition}, offset {offset} at {self._properties.bootstrap_servers}: "
            f"nothing came for {self._properties.read_timeout_ms / 1000:g} s, though records up to offset {end - 1} "
            f"should be there{self._last_problem}. The property penstock.read.timeout.ms sets how long to wait"
        )


def _position_of(message: Any) -> str:
    return f"Kafka topic {message.topic()}, partition {message.partition()}, offset {message.offset()}"
