"""The events as streams: from the files of a directory, or from the topics of a Kafka broker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nexmark.schema import LONG, TABLES, topic_of
from penstock.common import Types, WatermarkStrategy
from penstock.common.type_inference import infer_type
from penstock.common.watermark_strategy import IngestionTimeAssigner
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, ParquetFormat
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.datastream.formats.json import JsonRowDeserializationSchema

OUT_OF_ORDERNESS = "4 s"
MOST_AHEAD = "10 s"
"""How far one table may be read ahead of another, in event time: what is ahead has to be kept."""


@dataclass(frozen=True)
class Events:
    """Persons, auctions and bids, as rows, or as objects of a class that has some of the fields.

    Streams in event time have timestamps and watermarks.
    """

    env: StreamExecutionEnvironment
    directory: Path
    kafka: str | None = None
    """Bootstrap servers, if the events are to be read from there."""

    def persons(self, fields: type | None = None, *, in_event_time: bool = False) -> DataStream:
        """Who has registered."""
        return self._stream("persons", fields, in_event_time)

    def auctions(self, fields: type | None = None, *, in_event_time: bool = False) -> DataStream:
        """What is for sale, from when to when."""
        return self._stream("auctions", fields, in_event_time)

    def bids(self, fields: type | None = None, *, in_event_time: bool = False) -> DataStream:
        """Who offers how much."""
        return self._stream("bids", fields, in_event_time)

    def side_input(self) -> pd.DataFrame:
        """The table of q13: `key` and `value`."""
        return pd.read_csv(self.directory / "side_input.csv", names=["key", "value"], dtype={"value": str})

    def _stream(self, table: str, fields: type | None, in_event_time: bool) -> DataStream:
        # Kafka's messages have times of their own, which mean nothing here: records of an epoch share one.
        strategy = WatermarkStrategy.no_watermarks()
        if self.kafka is not None:
            strategy = strategy.with_timestamp_assigner(IngestionTimeAssigner())
        if in_event_time:
            strategy = (
                WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDERNESS)
                .with_timestamp_assigner("dateTime")
                .with_watermark_alignment("nexmark", MOST_AHEAD)
            )
        record_type = row_type(table) if fields is None else infer_type(fields)
        source = self._files(table, record_type) if self.kafka is None else self._topic(table, record_type, self.kafka)
        return self.env.from_source(source, strategy, table)

    def _files(self, table: str, record_type: Any) -> FileSource:
        return FileSource(f"{self.directory}/{table}*.parquet", ParquetFormat(record_type))

    def _topic(self, table: str, record_type: Any, servers: str) -> KafkaSource:
        schema = JsonRowDeserializationSchema.builder().type_info(record_type).build()
        return (
            KafkaSource.builder()
            .set_bootstrap_servers(servers)
            .set_topics(topic_of(table))
            .set_starting_offsets(KafkaOffsetsInitializer.earliest())
            .set_bounded(KafkaOffsetsInitializer.latest())
            .set_value_only_deserializer(schema)
            .build()
        )


def row_type(table: str) -> Any:
    """The type of the rows of a table."""
    names, kinds = zip(*TABLES[table], strict=True)
    return Types.ROW_NAMED(list(names), [Types.LONG() if kind == LONG else Types.STRING() for kind in kinds])
