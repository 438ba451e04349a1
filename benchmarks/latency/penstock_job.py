"""Kafka to Kafka with Penstock, for a look at how long records are on their way.

penstock_job.py BOOTSTRAP SOURCE TARGET WORK SHAPE LATENCY [at-once]

SHAPE is `stateless` (expressions alone), `maximum` (of every key so far, by name), `keyed` (a Python function with
state) or `window` (1 s of event time); LATENCY is `pipelined` or `epochs`. With `at-once`, records wait for no others,
in buffers or in the sink. Every result has in `t` the second from which its way is counted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.common.time import Time
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSource
from penstock.datastream.formats.json import JsonRowSerializationSchema
from penstock.datastream.functions import KeyedProcessFunction, ProcessWindowFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.expressions import col

PARALLELISM = 2
RECORD = Types.ROW_NAMED(["k", "t"], [Types.STRING(), Types.DOUBLE()])
RESULT = Types.ROW_NAMED(["k", "t", "n"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])


class Count(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Row]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield Row(k=value.k, t=value.t, n=count)


class CountInWindow(ProcessWindowFunction):
    """How many records a window has; it could be told when the window had ended."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Row]:
        yield Row(k=key, t=context.window().end / 1000, n=sum(1 for _ in elements))


def results_of(records: DataStream, shape: str) -> tuple[DataStream, Any]:
    """What goes to the target, and its type."""
    if shape == "stateless":
        return records.filter(col("t") > 0), RECORD
    keyed = records.key_by("k")
    if shape == "maximum":
        return keyed.max("t"), RECORD
    if shape == "keyed":
        return keyed.process(Count(), RESULT), RESULT
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).process(CountInWindow(), RESULT), RESULT


def main() -> None:
    bootstrap, source_topic, target_topic, work, shape, latency, *waits = sys.argv[1:]
    at_once = waits == ["at-once"]
    configuration = Configuration()
    configuration.set_string("execution.latency", latency)
    configuration.set_string("execution.checkpointing.dir", f"{work}/checkpoint")
    configuration.set_string("state.local-dir", f"{work}/local")
    configuration.set_string("pipeline.auto-watermark-interval", "50 ms")
    if at_once:
        configuration.set_string("execution.buffer-timeout.interval", "0")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(PARALLELISM)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(source_topic)
        .set_value_only_deserializer(JsonDeserializationSchema(RECORD))
        .build()
    )
    # The messages' own timestamps are their event time.
    strategy = WatermarkStrategy.for_monotonous_timestamps() if shape == "window" else None
    results, result_type = results_of(env.from_source(source, strategy, "records"), shape)
    schema = JsonRowSerializationSchema.builder().with_type_info(result_type).build()
    serializer = (
        KafkaRecordSerializationSchema.builder().set_topic(target_topic).set_value_serialization_schema(schema).build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    )
    if at_once or shape == "stateless":
        # Elsewhere more than five requests would be under way, and the client's thread would wait for them in a loop.
        sink.set_property("linger.ms", "0")
    results.sink_to(sink.build())
    env.execute(f"latency, {shape}, {latency}")


if __name__ == "__main__":
    main()
