"""A topic in, a rolling sum per key, two topics out, in pipelined mode: one at once, one exactly once. A script."""

from __future__ import annotations

import argparse
from pathlib import Path

from faults.rolling_job import INPUT, OUTPUT, RollingSum
from penstock.common import Configuration, WatermarkStrategy
from penstock.common.fail_points import reach
from penstock.common.typeinfo import RowTypeInfo
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSource
from penstock.datastream.formats.json import JsonRowSerializationSchema


class SumWithFailPoint(RollingSum):
    """A worker can be killed among the records of an epoch."""

    def process_element(self, value, ctx):
        reach("program.record")
        yield from super().process_element(value, ctx)


def sink_to(bootstrap: str, topic: str, guarantee: DeliveryGuarantee, record_type: RowTypeInfo = OUTPUT) -> KafkaSink:
    schema = JsonRowSerializationSchema.builder().with_type_info(record_type).build()
    serializer = (
        KafkaRecordSerializationSchema.builder().set_topic(topic).set_value_serialization_schema(schema).build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix(topic)
        .build()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("source")
    parser.add_argument("at_once")
    parser.add_argument("exactly_once")
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args()
    configuration = Configuration()
    configuration.set_string("execution.latency", "pipelined")
    configuration.set_string("execution.checkpointing.dir", str(arguments.directory / "checkpoint"))
    configuration.set_string("execution.checkpointing.interval", "1 s")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(arguments.bootstrap)
        .set_topics(arguments.source)
        .set_value_only_deserializer(JsonDeserializationSchema(INPUT))
    )
    sums = (
        env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "payments")
        .key_by("k")
        .process(SumWithFailPoint(noise=False), output_type=OUTPUT)
    )
    sums.sink_to(sink_to(arguments.bootstrap, arguments.at_once, DeliveryGuarantee.AT_LEAST_ONCE))
    sums.sink_to(sink_to(arguments.bootstrap, arguments.exactly_once, DeliveryGuarantee.EXACTLY_ONCE))
    env.execute("rolling sums, pipelined")


if __name__ == "__main__":
    main()
