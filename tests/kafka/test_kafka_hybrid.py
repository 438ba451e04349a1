"""History from files, then a topic: one stream, every record once."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer

from penstock.common import SimpleStringSchema
from penstock.connectors.hybrid import HybridSource, SourceSwitchContext
from penstock.connectors.source import Boundedness, Source
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource, KafkaTopicPartition
from penstock.testing import check_source
from services.kafka import KafkaBroker

PARTITIONS = 2


def kafka(bootstrap: str, topic: str, start: KafkaOffsetsInitializer) -> KafkaSource:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(topic)
        .set_starting_offsets(start)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def test_files_then_kafka_from_where_the_files_end(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka_broker.create_topic(partitions=PARTITIONS)
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    for number in range(20):
        producer.produce(topic, f"{number}", partition=number % PARTITIONS)
    assert producer.flush(30) == 0

    # The archive has the first offsets of each partition; its newest file is named after the next one.
    (tmp_path / "offset-2").write_text("0\n1\n2\n3\n")
    (tmp_path / "offset-4").write_text("4\n5\n6\n7\n")
    bootstrap = kafka_broker.bootstrap

    def live(switch: SourceSwitchContext) -> Source:
        newest = switch.get_previous_enumerator().paths[-1]  # type: ignore[attr-defined]
        offset = int(Path(newest).name.removeprefix("offset-"))
        starts = {KafkaTopicPartition(topic, partition): offset for partition in range(PARTITIONS)}
        return kafka(bootstrap, topic, KafkaOffsetsInitializer.offsets(starts))

    history = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    source = HybridSource.builder(history).add_source(live, Boundedness.BOUNDED).build()
    check_source(source, map(str, range(20)), records_per_epoch=12)
