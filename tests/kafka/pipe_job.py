"""A topic in, a rolling sum per key with state, a topic out, exactly once. Also run as a script, to be killed."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from faults.rolling_job import INPUT, OUTPUT, RollingSum
from kafka.reading import read_topic
from penstock.common import Configuration
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.formats.json import JsonRowSerializationSchema
from penstock.execution.job_client import JobClient


def start_pipe_job(
    *,
    bootstrap: str,
    source: str,
    target: str,
    directory: Path,
    options: dict[str, str],
    bounded: bool = False,
    noise: bool = True,
    guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
) -> JobClient:
    """Starts or resumes the job; its checkpoint is in `directory`."""
    configuration = Configuration()
    for key, value in {"execution.checkpointing.dir": str(directory / "checkpoint"), **options}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    topic = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(source)
        .set_value_only_deserializer(JsonDeserializationSchema(INPUT))
    )
    if bounded:
        topic = topic.set_bounded(KafkaOffsetsInitializer.latest())
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(target)
        .set_value_serialization_schema(JsonRowSerializationSchema.builder().with_type_info(OUTPUT).build())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix(target)
        .build()
    )
    (
        env.from_source(topic.build(), None, "payments")
        .key_by("k")
        .process(RollingSum(noise), output_type=OUTPUT)
        .sink_to(sink)
    )
    return env.execute_async("rolling sums from topic to topic")


def published(bootstrap: str, topic: str) -> Counter[tuple[str, int, int]]:
    """What a consumer of committed messages sees."""
    rows = [json.loads(message.value()) for message in read_topic(bootstrap, topic)]
    return Counter((row["k"], row["n"], row["total"]) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    start_pipe_job(
        bootstrap=arguments.bootstrap,
        source=arguments.source,
        target=arguments.target,
        directory=arguments.directory,
        options=dict(option.split("=", 1) for option in arguments.option),
        bounded=True,
    ).wait()


if __name__ == "__main__":
    main()
