"""From records of a stream to messages of Kafka: topic, key, value, headers, partition, timestamp."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, cast

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError, TypeMismatchError
from penstock.common.kernels import pc
from penstock.common.serialization import SerializationSchema
from penstock.connectors.kafka.messages import Messages

HeaderValue = str | bytes | None
Headers = Mapping[str, HeaderValue] | Iterable[tuple[str, HeaderValue]]
PartitionsOf = Callable[[str], list[int]]
"""The partitions that a topic has."""


class KafkaTopicSelector(ABC):
    """Chooses the topic of a record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic that the record goes to."""


class KafkaPartitioner(ABC):
    """Chooses the partition of a record."""

    @abstractmethod
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        """One of `partitions`, those that the topic has."""


class KafkaRecordSerializationSchema:
    """How a record becomes a message; made with `KafkaRecordSerializationSchema.builder()`.

    A record's timestamp becomes the message's, where it has one that is not negative.
    """

    def __init__(
        self,
        *,
        topic: str | KafkaTopicSelector,
        value: SerializationSchema,
        key: SerializationSchema | None = None,
        headers: Callable[[Any], Headers] | None = None,
        partitioner: KafkaPartitioner | None = None,
    ) -> None:
        self._topic = topic
        self._value = value
        self._key = key
        self._headers = headers
        self._partitioner = partitioner

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """A new builder."""
        return KafkaRecordSerializationSchemaBuilder()

    @property
    def topic(self) -> str | None:
        """The topic of all records; None when each record has its own."""
        return self._topic if isinstance(self._topic, str) else None

    def to_messages(self, batch: Batch, partitions_of: PartitionsOf) -> Messages:
        """The messages for some records."""
        values = self._value.serialize_batch(batch)
        keys = None if self._key is None else self._key.serialize_batch(batch)
        topics = self._topic if isinstance(self._topic, str) else self._topics(batch)
        partitions = None
        if self._partitioner is not None:
            partitions = self._partitions(self._partitioner, batch, keys, values, topics, partitions_of)
        return Messages(
            topics=topics,
            values=values,
            keys=keys,
            partitions=partitions,
            timestamps=_times(batch),
            headers=None if self._headers is None else self._headers_of(self._headers, batch),
        )

    def _topics(self, batch: Batch) -> list[str]:
        selector = self._topic
        assert isinstance(selector, KafkaTopicSelector)
        topics: list[Any] = [selector.apply(value) for value in batch.values]
        for index, topic in enumerate(topics):
            if not isinstance(topic, str) or not topic:
                raise TypeMismatchError(
                    f"the topic selector of a Kafka sink returns the name of a topic, got {topic!r}", index=index
                )
        return topics

    def _partitions(
        self,
        partitioner: KafkaPartitioner,
        batch: Batch,
        keys: Sequence[bytes | None] | pa.Array | None,
        values: Sequence[bytes | None] | pa.Array,
        topics: str | Sequence[str],
        partitions_of: PartitionsOf,
    ) -> list[int]:
        chosen: list[int] = []
        rows = zip(
            batch.values,
            repeat(None) if keys is None else _plain(keys),
            _plain(values),
            repeat(topics) if isinstance(topics, str) else topics,
            strict=False,
        )
        for record, key, value, topic in rows:
            existing = partitions_of(topic)
            partition = partitioner.partition(record, key, value, topic, existing)
            if partition not in existing:
                raise TypeMismatchError(
                    f"the partitioner of a Kafka sink chose partition {partition!r} of topic {topic}, which has "
                    f"{len(existing)}",
                    index=len(chosen),
                )
            chosen.append(partition)
        return chosen

    def _headers_of(self, provide: Callable[[Any], Headers], batch: Batch) -> list[list[tuple[str, bytes | None]]]:
        return [_header_pairs(provide(value), index) for index, value in enumerate(batch.values)]


class KafkaRecordSerializationSchemaBuilder:
    """Builds a `KafkaRecordSerializationSchema`: a topic, or a selector of topics, and a value are required."""

    def __init__(self) -> None:
        self._topic: str | KafkaTopicSelector | None = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None
        self._headers: Callable[[Any], Headers] | None = None
        self._partitioner: KafkaPartitioner | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """The topic of all records."""
        if not topic:
            raise ConfigurationError(f"KafkaRecordSerializationSchema: set_topic takes a topic's name, got {topic!r}")
        self._topic = topic
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Chooses the topic of each record: a `KafkaTopicSelector`, or a function of the record."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic = topic_selector
        elif callable(topic_selector) and not isinstance(topic_selector, type):
            self._topic = _FunctionTopicSelector(topic_selector)
        else:
            raise ConfigurationError(
                "KafkaRecordSerializationSchema: a topic selector is a KafkaTopicSelector or a function of a record, "
                f"got {topic_selector!r}"
            )
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Makes the message's key of the record; without, messages have no key."""
        self._key = _schema("set_key_serialization_schema", key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Makes the message's value of the record."""
        self._value = _schema("set_value_serialization_schema", value_serialization_schema)
        return self

    def set_header_provider(self, header_provider: Callable[[Any], Headers]) -> KafkaRecordSerializationSchemaBuilder:
        """Makes the message's headers of the record: a function that returns a dict, or pairs of name and value."""
        if not callable(header_provider):
            raise ConfigurationError(
                f"KafkaRecordSerializationSchema: a header provider is a function of a record, got {header_provider!r}"
            )
        self._headers = header_provider
        return self

    def set_partitioner(
        self, partitioner: KafkaPartitioner | Callable[[Any, bytes | None, bytes | None, str, list[int]], int]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Chooses the partition of each record: a `KafkaPartitioner`, or a function like its method `partition`.

        Without, messages with the same key go to the same partition, the one that Kafka's Java client would choose;
        those without a key are spread.
        """
        if isinstance(partitioner, KafkaPartitioner):
            self._partitioner = partitioner
        elif callable(partitioner) and not isinstance(partitioner, type):
            self._partitioner = _FunctionPartitioner(partitioner)
        else:
            raise ConfigurationError(
                "KafkaRecordSerializationSchema: a partitioner is a KafkaPartitioner or a function (record, key, "
                f"value, target_topic, partitions), got {partitioner!r}"
            )
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema; raises `ConfigurationError` when something is missing."""
        if self._topic is None:
            raise ConfigurationError(
                "KafkaRecordSerializationSchema: no topic is given: call set_topic or set_topic_selector"
            )
        if self._value is None:
            raise ConfigurationError(
                "KafkaRecordSerializationSchema: nothing says what a message holds: call set_value_serialization_schema"
            )
        return KafkaRecordSerializationSchema(
            topic=self._topic,
            value=self._value,
            key=self._key,
            headers=self._headers,
            partitioner=self._partitioner,
        )


class _FunctionTopicSelector(KafkaTopicSelector):
    def __init__(self, function: Callable[[Any], str]) -> None:
        self._function = function

    def apply(self, data: Any) -> str:
        return self._function(data)


class _FunctionPartitioner(KafkaPartitioner):
    def __init__(self, function: Callable[[Any, bytes | None, bytes | None, str, list[int]], int]) -> None:
        self._function = function

    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        return self._function(record, key, value, target_topic, partitions)


def _schema(method: str, schema: object) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise ConfigurationError(
            f"KafkaRecordSerializationSchema: {method} takes a schema such as SimpleStringSchema(), got {schema!r}"
        )
    return schema


def _times(batch: Batch) -> Sequence[int] | pa.Array | None:
    """Timestamps that Kafka can have, where there are any."""
    at_hand = batch.either_timestamps
    if isinstance(at_hand, list) and None not in at_hand:
        known = cast("list[int]", at_hand)
        if min(known, default=0) >= 0:
            return known
    times = batch.timestamp_column
    if times is None or times.null_count == len(times):
        return None
    if pc.min(times).as_py() >= 0:
        return times
    return pc.if_else(pc.less(times, 0), None, times)


def _plain(column: Sequence[bytes | None] | pa.Array) -> Sequence[bytes | None]:
    return cast("pa.Array", column).to_pylist() if isinstance(column, pa.Array) else column


def _header_pairs(headers: Headers, index: int) -> list[tuple[str, bytes | None]]:
    try:
        pairs = cast("Iterable[tuple[str, HeaderValue]]", headers.items() if isinstance(headers, Mapping) else headers)
        return [(name, value.encode() if isinstance(value, str) else value) for name, value in pairs]
    except (TypeError, ValueError):
        raise TypeMismatchError(
            f"headers of a Kafka message are a dict, or pairs of name and value, got {headers!r}", index=index
        ) from None
