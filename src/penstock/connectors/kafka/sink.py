"""Writes to Kafka topics."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError, SinkError, TypeMismatchError
from penstock.common.fail_points import reach
from penstock.common.kernels import pc
from penstock.connectors.gathered_batches import GatheredBatches
from penstock.connectors.kafka.client import client_log, confluent_kafka, confluent_kafka_admin, told
from penstock.connectors.kafka.messages import Messages, pack_messages, sizes_of
from penstock.connectors.kafka.producer import MessageProducer
from penstock.connectors.kafka.producer_properties import KafkaProducerProperties, understood_by_producers
from penstock.connectors.kafka.publisher import KafkaCommitter, KafkaPublisher
from penstock.connectors.kafka.record_serialization import KafkaRecordSerializationSchema
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
    TokenPublisher,
)

_MAX_STAGED_BYTES = 8 << 20
_PARTITIONS_ARE_KNOWN_SECONDS = 300
_DEFAULT_PREFIX = "kafka-sink"
_MAX_PREFIX_BYTES = 6400


class KafkaSink(Sink):
    """Writes messages to Kafka topics; made with `KafkaSink.builder()`.

    - `DeliveryGuarantee.EXACTLY_ONCE`: each subtask's messages of an epoch appear in one transaction, after the
      epoch's manifest is durable. A consumer with `isolation.level=read_committed` sees each of them once.
    - `DeliveryGuarantee.AT_LEAST_ONCE`: messages are sent while the epoch runs, and the epoch ends when the brokers
      have them; an epoch that is run again sends them again.
    - `DeliveryGuarantee.NONE`: nobody waits for the brokers. Messages can be lost, or come twice.
    """

    def __init__(
        self,
        properties: KafkaProducerProperties,
        serializer: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        transactional_id_prefix: str = _DEFAULT_PREFIX,
    ) -> None:
        self._properties = properties
        self._serializer = serializer
        self._guarantee = guarantee
        self._prefix = transactional_id_prefix
        self._producer: MessageProducer | None = None
        self._partitions: dict[str, tuple[float, list[int]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_producer": None, "_partitions": {}}

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A new builder."""
        return KafkaSinkBuilder()

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return self._guarantee

    @property
    def output_kind(self) -> str:
        """Names the prefix: under another one, nobody knows which epochs were published."""
        return f"{super().output_kind}, transactional id prefix {self._prefix}"

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return _StagingWriter(self, context)
        return _SendingWriter(self)

    def create_publisher(self, context: PublisherContext) -> TokenPublisher | None:  # noqa: D102
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return KafkaPublisher(self._properties, self._prefix, context)
        return None

    def create_committer(self, context: CommitterContext) -> Committer | None:  # noqa: D102
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return KafkaCommitter(self._properties, self._prefix, self._serializer.topic, context)
        return None

    def close(self) -> None:
        """Waits for what is still on its way."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with self.explained():
                producer.flush()

    def describe(self) -> str:  # noqa: D102
        return f"Kafka {self._serializer.topic or 'topics by record'}"

    @property
    def max_message_bytes(self) -> int:
        """The size from which on the client takes no message."""
        return self._properties.max_message_bytes

    def to_messages(self, batch: Batch) -> Messages:
        """The messages for some records."""
        return self._serializer.to_messages(batch, self._partitions_of)

    @contextmanager
    def explained(self) -> Generator[None]:
        """Errors of the client as `SinkError`."""
        try:
            yield
        except confluent_kafka().KafkaException as problem:
            raise SinkError(
                f"Kafka at {self._properties.bootstrap_servers} does not take messages: {told(problem)}"
            ) from problem

    def connected(self) -> MessageProducer:
        """The producer of this subtask, which lives from epoch to epoch."""
        if self._producer is None:
            self._producer = MessageProducer(self._properties)
        return self._producer

    def _partitions_of(self, topic: str) -> list[int]:
        asked, partitions = self._partitions.get(topic, (0.0, []))
        if not partitions or time.monotonic() - asked > _PARTITIONS_ARE_KNOWN_SECONDS:
            partitions = self._ask_for_partitions(topic)
            self._partitions[topic] = (time.monotonic(), partitions)
        return partitions

    def _ask_for_partitions(self, topic: str) -> list[int]:
        admin = confluent_kafka_admin().AdminClient(self._properties.admin_configuration(), logger=client_log)
        with self.explained():
            metadata = admin.list_topics(topic, timeout=self._properties.write_timeout_seconds)
        partitions = sorted(metadata.topics[topic].partitions)
        if not partitions:
            raise SinkError(f"Kafka at {self._properties.bootstrap_servers} has no topic {topic}: create it")
        return partitions


class KafkaSinkBuilder:
    """Builds a `KafkaSink`: bootstrap servers and a record serializer are required.

    Without a delivery guarantee it is `DeliveryGuarantee.NONE`.
    """

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix = _DEFAULT_PREFIX

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """The addresses of some brokers: `host:port`, separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """What a reader of the topics may see after failures."""
        _check("set_delivery_guarantee", delivery_guarantee, DeliveryGuarantee, "a DeliveryGuarantee")
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """How the transactional ids, and the groups that name what is published, begin.

        Jobs that write to the same brokers at the same time must have different ones, or sinks with different uids.
        """
        if not 0 < len(transactional_id_prefix.encode()) <= _MAX_PREFIX_BYTES:
            raise ConfigurationError(f"KafkaSink: a transactional id prefix has 1 to {_MAX_PREFIX_BYTES} bytes")
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        """How a record becomes a message."""
        expected = "what KafkaRecordSerializationSchema.builder()...build() returns"
        _check("set_record_serializer", record_serializer, KafkaRecordSerializationSchema, expected)
        self._serializer = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Any property of Kafka's producer, by its name in the Java or in the C client."""
        self._properties[key] = str(value)
        return self

    def build(self) -> KafkaSink:
        """The sink; raises `ConfigurationError` when something is missing or contradicts itself."""
        confluent_kafka()
        if not self._properties.get("bootstrap.servers"):
            raise ConfigurationError("KafkaSink: no brokers are given: call set_bootstrap_servers")
        if self._serializer is None:
            raise ConfigurationError("KafkaSink: no record serializer is given: call set_record_serializer")
        return KafkaSink(understood_by_producers(self._properties), self._serializer, self._guarantee, self._prefix)


def _check(method: str, value: object, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise ConfigurationError(f"KafkaSink: {method} takes {expected}, got {value!r}")


class _StagingWriter(SinkWriter):
    """Puts messages into the checkpoint directory, some megabytes at a time."""

    def __init__(self, sink: KafkaSink, context: SinkWriterContext) -> None:
        self._sink = sink
        self._context = context
        self._limit = sink.max_message_bytes
        self._waiting = GatheredBatches()
        self._tokens: list[Token] = []

    def write(self, batch: Batch) -> None:
        if not len(batch):
            return
        messages = self._sink.to_messages(batch).to_record_batch()
        self._check_sizes(messages)
        self._waiting.append(messages)
        if self._waiting.nbytes >= _MAX_STAGED_BYTES:
            self._stage()

    def prepare_commit(self) -> list[Token]:
        if self._waiting:
            self._stage()
        reach("sink.kafka.staged")
        return self._tokens

    def _check_sizes(self, messages: pa.RecordBatch) -> None:
        """What the client does not take is not staged: when the epoch has happened nothing in it can be changed."""
        sizes, limit = sizes_of(messages), self._limit
        place = pc.index(pc.greater(sizes, limit), True).as_py()
        if place >= 0:
            raise TypeMismatchError(
                f"the message of a record takes {sizes[place]} bytes, and Kafka's client takes messages of at most "
                f"{limit}: leave such records out, or raise the sink's property max.request.size and what the topic "
                "allows",
                index=place,
            )

    def _stage(self) -> None:
        batches = self._waiting.take()
        path = self._context.storage.write_staged(self._context.staging, pack_messages(batches))
        self._tokens.append({"path": path, "records": sum(batch.num_rows for batch in batches)})


class _SendingWriter(SinkWriter):
    """Sends messages at once; without any, nobody is called."""

    def __init__(self, sink: KafkaSink) -> None:
        self._sink = sink
        self._producer: MessageProducer | None = None

    def write(self, batch: Batch) -> None:
        if not len(batch):
            return
        messages = self._sink.to_messages(batch)
        if self._producer is None:
            self._producer = self._sink.connected()
        with self._sink.explained():
            self._producer.send(messages)

    def prepare_commit(self) -> list[Token]:
        if self._producer is not None and self._sink.guarantee is DeliveryGuarantee.AT_LEAST_ONCE:
            with self._sink.explained():
                self._producer.flush()
        return []
