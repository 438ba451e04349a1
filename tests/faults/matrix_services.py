"""The crash matrix with Kafka and PostgreSQL: payments from a topic, sums to a topic, windows to a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from kafka.reading import read_topic
from penstock.cli.dev_servers.postgres import PASSWORD, USER
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from penstock.datastream.formats.json import JsonRowSerializationSchema
from services.kafka import KafkaBroker
from services.postgres import Postgres

PARTITIONS = 2
_COLUMNS = "kind text, k text, n bigint, total bigint, rules bigint, noise bigint"


@dataclass(frozen=True)
class MatrixServices:
    """Where the topics and the table of one run are."""

    bootstrap: str
    payments: str
    sums: str
    database: str
    windows: str
    ends: dict[str, int]
    """How many payments each partition will have in the end."""

    @staticmethod
    def create(broker: KafkaBroker, postgres: Postgres, source: Path, *, send: bool = True) -> MatrixServices:
        """Makes the topics and the table, and sends the payments of the input directory unless somebody else will."""
        services = MatrixServices(
            broker.bootstrap,
            broker.create_topic(partitions=PARTITIONS),
            broker.create_topic(partitions=PARTITIONS),
            postgres.address,
            postgres.create_table(_COLUMNS),
            dict(Counter(str(partition) for partition, _ in payments_in(source))),
        )
        if send:
            producer = services.producer()
            for partition, payment in payments_in(source):
                producer.produce(services.payments, payment, partition=partition)
            assert producer.flush(120) == 0
        return services

    def producer(self) -> Producer:
        """For payments: each arrives once, in order."""
        return Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "log_level": 0})

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> MatrixServices:
        return MatrixServices(**json.loads(text))

    def payments_source(self, type_info: Any) -> KafkaSource:
        return (
            KafkaSource.builder()
            .set_bootstrap_servers(self.bootstrap)
            .set_topics(self.payments)
            .set_value_only_deserializer(JsonDeserializationSchema(type_info))
            .set_bounded(
                KafkaOffsetsInitializer.offsets(
                    {KafkaTopicPartition(self.payments, int(partition)): end for partition, end in self.ends.items()}
                )
            )
            .build()
        )

    def sums_sink(self, type_info: Any) -> KafkaSink:
        schema = JsonRowSerializationSchema.builder().with_type_info(type_info).build()
        serializer = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(self.sums)
            .set_value_serialization_schema(schema)
            .set_partitioner(_by_key)
            .build()
        )
        return (
            KafkaSink.builder()
            .set_bootstrap_servers(self.bootstrap)
            .set_record_serializer(serializer)
            .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .set_transactional_id_prefix("matrix")
            .build()
        )

    def windows_sink(self, type_info: Any) -> JdbcSink:
        options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(self.database)
        return JdbcSink.insert(self.windows, type_info, options.with_user_name(USER).with_password(PASSWORD).build())

    def read_sums(self) -> list[dict[str, Any]]:
        """In the order of each partition."""
        return [json.loads(message.value()) for message in read_topic(self.bootstrap, self.sums)]

    def read_windows(self, postgres: Postgres) -> list[dict[str, Any]]:
        names = ["k", "n", "total", "rules"]
        rows = postgres.query(f"SELECT {', '.join(names)} FROM {self.windows}")
        return [dict(zip(names, row, strict=True)) for row in rows]


def payments_in(source: Path) -> Iterator[tuple[int, str]]:
    """Partition and text of every payment of an input directory, in order."""
    for path in sorted((source / "payments").glob("*.json")):
        for line in path.read_text().splitlines():
            yield int(json.loads(line)["k"].removeprefix("key-")) % PARTITIONS, line


def _by_key(record: Any, key: Any, value: Any, topic: str, partitions: list[int]) -> int:
    return int(record.k.removeprefix("key-")) % len(partitions)
