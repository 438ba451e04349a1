"""Reads Kafka topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.common.errors import ConfigurationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.broken_records import FAIL, OnError, checked_on_error
from penstock.connectors.deserialization import DeserializationSchema, FunctionDeserializationSchema
from penstock.connectors.kafka.broker import KafkaBroker
from penstock.connectors.kafka.client import confluent_kafka
from penstock.connectors.kafka.enumerator import KafkaEnumerator, Subscription
from penstock.connectors.kafka.live_enumerator import KafkaLiveEnumerator
from penstock.connectors.kafka.live_reader import KafkaLiveReader
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from penstock.connectors.kafka.properties import KafkaProperties, understood
from penstock.connectors.kafka.reader import KafkaReader
from penstock.connectors.kafka.record_deserialization import (
    FunctionRecordDeserializationSchema,
    KafkaConsumerRecord,
    KafkaRecordDeserializationSchema,
)
from penstock.connectors.live_source import LiveReader, LiveSource
from penstock.connectors.source import Boundedness, EnumeratorContext, Source, SplitEnumerator, SplitReader
from penstock.functions.output_tag import OutputTag


class KafkaSource(Source, LiveSource):
    """Reads Kafka topics, exactly once; made with `KafkaSource.builder()`.

    The offsets that a job has read are part of its checkpoint. Where a `group.id` is set they are also committed to
    Kafka, for monitoring. Only committed transactions are read unless the property `isolation.level` says otherwise.
    """

    def __init__(
        self,
        properties: KafkaProperties,
        deserializer: KafkaRecordDeserializationSchema,
        *,
        topics: tuple[str, ...] = (),
        topic_pattern: str | None = None,
        partitions: frozenset[KafkaTopicPartition] = frozenset(),
        starting: KafkaOffsetsInitializer,
        stopping: KafkaOffsetsInitializer | None = None,
        is_bounded: bool = False,
        on_error: OnError = FAIL,
    ) -> None:
        self._properties = properties
        self._deserializer = deserializer
        self._topics = topics
        self._topic_pattern = topic_pattern
        self._partitions = partitions
        self._starting = starting
        self._stopping = stopping
        self._is_bounded = is_bounded
        self._on_error = on_error

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """A new builder."""
        return KafkaSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED if self._is_bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def broken_records_tag(self) -> OutputTag | None:  # noqa: D102
        return self._on_error if isinstance(self._on_error, OutputTag) else None

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._deserializer.produced_type

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return self._enumerator(KafkaEnumerator, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return KafkaReader(self._properties, self._deserializer, self._on_error)

    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return self._enumerator(KafkaLiveEnumerator, context)

    def create_live_reader(self) -> LiveReader:  # noqa: D102
        return KafkaLiveReader(self._properties, self._deserializer, self._on_error)

    def _enumerator(self, kind: type[KafkaEnumerator], context: EnumeratorContext) -> KafkaEnumerator:
        broker = KafkaBroker(self._properties)
        return kind(broker, self._subscription(broker), self._properties, self._starting, self._stopping, context)

    def describe(self) -> str:  # noqa: D102
        what = self._topic_pattern or ", ".join(self._topics or sorted(map(str, self._partitions)))
        return f"Kafka {what}"

    def _subscription(self, broker: KafkaBroker) -> Subscription:
        if self._topics:
            return lambda: broker.partitions_of(list(self._topics))
        if self._topic_pattern is not None:
            pattern = self._topic_pattern
            return lambda: broker.partitions_matching(pattern)
        return lambda: sorted(self._partitions)


class KafkaSourceBuilder:
    """Builds a `KafkaSource`: bootstrap servers, topics and a deserializer are required.

    Without starting offsets it starts with the earliest records; without an end it reads for ever.
    """

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._topics: tuple[str, ...] = ()
        self._topic_pattern: str | None = None
        self._partitions: frozenset[KafkaTopicPartition] = frozenset()
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._is_bounded = False
        self._deserializer: KafkaRecordDeserializationSchema | None = None
        self._on_error: OnError = FAIL

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """The addresses of some brokers: `host:port`, separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The consumer group whose offsets are committed and can be started from."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Topics to read, all partitions of them; they must exist."""
        if not topics or not all(topics):
            raise ConfigurationError(f"KafkaSource: set_topics takes names of topics, got {topics!r}")
        self._require_no_other_subscription()
        self._topics = topics
        return self

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Reads all topics, those to come too, whose whole name matches a regular expression."""
        try:
            re.compile(topic_pattern)
        except re.error as problem:
            raise ConfigurationError(
                f"KafkaSource: {topic_pattern!r} is no valid regular expression: {problem}"
            ) from None
        self._require_no_other_subscription()
        self._topic_pattern = topic_pattern
        return self

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Reads these partitions only."""
        self._require_no_other_subscription()
        self._partitions = frozenset(partitions)
        if not self._partitions:
            raise ConfigurationError("KafkaSource: set_partitions needs at least one partition")
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Where to start when there is no checkpoint."""
        self._starting = starting_offsets_initializer
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stops at these offsets, but counts as an unbounded source."""
        self._stopping = stopping_offsets_initializer
        self._is_bounded = False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stops at these offsets; the source is bounded."""
        self._stopping = stopping_offsets_initializer
        self._is_bounded = True
        return self

    def set_value_only_deserializer(
        self,
        deserialization_schema: DeserializationSchema | Callable[[Any], Any],
        type_info: TypeInformation | None = None,
    ) -> KafkaSourceBuilder:
        """How the value of a message becomes a record: a schema, or a function of bytes (with its result's type)."""
        if isinstance(deserialization_schema, DeserializationSchema):
            if type_info is not None:
                raise ConfigurationError("KafkaSource: a deserialization schema knows its type: leave type_info out")
            schema = deserialization_schema
        elif callable(deserialization_schema) and not isinstance(deserialization_schema, type):
            schema = FunctionDeserializationSchema(deserialization_schema, type_info)
        else:
            raise ConfigurationError(
                f"KafkaSource: a deserializer is a schema such as SimpleStringSchema() or a function of bytes, "
                f"got {deserialization_schema!r}"
            )
        self._deserializer = KafkaRecordDeserializationSchema.value_only(schema)
        return self

    def set_deserializer(
        self,
        record_deserializer: KafkaRecordDeserializationSchema | Callable[[KafkaConsumerRecord], Any],
        type_info: TypeInformation | None = None,
    ) -> KafkaSourceBuilder:
        """How a whole message becomes records: a schema, or a function of a `KafkaConsumerRecord` (with its type)."""
        if isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            if type_info is not None:
                raise ConfigurationError("KafkaSource: a deserialization schema knows its type: leave type_info out")
            self._deserializer = record_deserializer
        elif callable(record_deserializer) and not isinstance(record_deserializer, type):
            self._deserializer = FunctionRecordDeserializationSchema(record_deserializer, type_info)
        else:
            raise ConfigurationError(
                "KafkaSource: a deserializer of whole messages is a KafkaRecordDeserializationSchema or a function of "
                f"a KafkaConsumerRecord, got {record_deserializer!r}"
            )
        return self

    def set_on_error(self, on_error: OnError) -> KafkaSourceBuilder:
        """What becomes of messages that cannot be deserialized: `"fail"`, `"skip"`, or the tag of a side output."""
        self._on_error = checked_on_error(on_error)
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """The name of the clients in the brokers' logs and metrics."""
        return self.set_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Any property of Kafka's consumer, by its name in the Java or in the C client."""
        self._properties[key] = str(value)
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Several properties at once."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource:
        """The source; raises `ConfigurationError` when something is missing or contradicts itself."""
        confluent_kafka()
        if not self._properties.get("bootstrap.servers"):
            raise ConfigurationError("KafkaSource: no brokers are given: call set_bootstrap_servers")
        if not (self._topics or self._topic_pattern is not None or self._partitions):
            raise ConfigurationError(
                "KafkaSource: nothing to read is given: call set_topics, set_topic_pattern or set_partitions"
            )
        if self._deserializer is None:
            raise ConfigurationError(
                "KafkaSource: no deserializer is given: call set_value_only_deserializer or set_deserializer"
            )
        properties = understood(self._properties)
        if properties.group_id is None and (
            self._starting.needs_group or (self._stopping is not None and self._stopping.needs_group)
        ):
            raise ConfigurationError("KafkaSource: committed offsets belong to a consumer group: call set_group_id")
        return KafkaSource(
            properties,
            self._deserializer,
            topics=self._topics,
            topic_pattern=self._topic_pattern,
            partitions=self._partitions,
            starting=self._starting,
            stopping=self._stopping,
            is_bounded=self._is_bounded,
            on_error=self._on_error,
        )

    def _require_no_other_subscription(self) -> None:
        if self._topics or self._topic_pattern is not None or self._partitions:
            raise ConfigurationError(
                "KafkaSource: topics, a topic pattern and partitions exclude each other, and each is set once"
            )
