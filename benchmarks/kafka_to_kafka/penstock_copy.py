"""Copies a topic with Penstock: bytes in, bytes out."""

from __future__ import annotations

from common.contender import parse_arguments
from common.epoch_times import EpochTimes
from common.penstock_job import make_environment
from kafka_to_kafka.topics import SOURCE, TARGET, make_topics, write_result
from penstock.connectors.deserialization import ByteArraySchema
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)


def copy_topic(guarantee: DeliveryGuarantee) -> None:
    """Runs the job, and writes how long each epoch took."""
    arguments = parse_arguments()
    bootstrap = make_topics(arguments)
    env = make_environment(arguments)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(SOURCE)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(ByteArraySchema())
        .build()
    )
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(TARGET)
        .set_value_serialization_schema(ByteArraySchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(guarantee)
        .build()
    )
    env.from_source(source, source_name="records").sink_to(sink)
    job = env.execute_async("copy of a topic")
    times = EpochTimes()
    while not job.has_ended(0.05):
        times.look(job.metrics()["recent_epochs"])
    job.wait()
    times.look(job.metrics()["recent_epochs"])
    write_result(arguments, bootstrap, times.samples)
