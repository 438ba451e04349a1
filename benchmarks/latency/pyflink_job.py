"""The keyed count of `penstock_job.py` by PyFlink's DataStream API.

pyflink_job.py BOOTSTRAP SOURCE TARGET WORK

Set for latency: bundles of Python records and network buffers wait 5 ms for more at most, as Penstock's buffers do.
State is kept in Python between bundles, and saved every ten seconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from pyflink.common import Configuration, Row, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from pyflink.datastream.state import ValueStateDescriptor

from common.flink_kafka.jars import flink_kafka_jars

# Without it a local job runs all Python functions in threads of this process.
os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112 (the name that PyFlink reads)

PARALLELISM = 2
WAIT_MS = 5
RECORD = Types.ROW_NAMED(["k", "t"], [Types.STRING(), Types.DOUBLE()])
RESULT = Types.ROW_NAMED(["k", "t", "n"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])


class Count(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield Row(value[0], value[1], count)


def main() -> None:
    bootstrap, source_topic, target_topic, work = sys.argv[1:]
    settings = Configuration()
    settings.set_string("python.executable", sys.executable)
    settings.set_string("restart-strategy.type", "none")
    settings.set_string("python.fn-execution.bundle.time", str(WAIT_MS))
    settings.set_string("python.state.cache-size", "100000")
    settings.set_string("pipeline.object-reuse", "true")
    settings.set_string("pipeline.jars", ";".join(Path(jar).as_uri() for jar in flink_kafka_jars()))
    settings.set_string("execution.checkpointing.dir", Path(work, "checkpoint").as_uri())
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(PARALLELISM).set_buffer_timeout(WAIT_MS).enable_checkpointing(10_000)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(source_topic)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(JsonRowDeserializationSchema.builder().type_info(RECORD).build())
        .build()
    )
    counts = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        .key_by(lambda row: row[0], Types.STRING())
        .process(Count(), RESULT)
    )
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(target_topic)
        .set_value_serialization_schema(JsonRowSerializationSchema.builder().with_type_info(RESULT).build())
        .build()
    )
    counts.sink_to(
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .set_property("linger.ms", "0")
        .build()
    )
    env.execute("latency, keyed")


if __name__ == "__main__":
    main()
