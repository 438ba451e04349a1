"""Windows over a topic, twice: partitions may be idle, or may not. A script.

silent_split_job.py BOOTSTRAP SOURCE WITH_IDLENESS WITHOUT_IDLENESS DIRECTORY

Epochs have no end of their own: for each line of the input a savepoint is made, in DIRECTORY/savepoints.
"""

from __future__ import annotations

import sys

from faults.rolling_job import INPUT
from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.common.time import Time
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.window import TumblingEventTimeWindows
from pipelined.topics_job import sink_to

WINDOW_MS = 1000


def main() -> None:
    bootstrap, topic, with_idleness, without_idleness, directory = sys.argv[1:]
    configuration = Configuration()
    configuration.set_string("execution.latency", "pipelined")
    configuration.set_string("execution.checkpointing.dir", f"{directory}/checkpoint")
    configuration.set_string("execution.checkpointing.interval", "1 h")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("v")
    # Longer than any pause between records of the partition that is not silent.
    strategies = {with_idleness: strategy.with_idleness(Duration.of_seconds(1)), without_idleness: strategy}
    for target, of_target in strategies.items():
        source = (
            KafkaSource.builder()
            .set_bootstrap_servers(bootstrap)
            .set_topics(topic)
            .set_value_only_deserializer(JsonDeserializationSchema(INPUT))
        )
        (
            env.from_source(source.build(), of_target, f"records for {target}")
            .key_by("k")
            .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
            .max("v")
            .sink_to(sink_to(bootstrap, target, DeliveryGuarantee.AT_LEAST_ONCE, INPUT))
        )
    job = env.execute_async("a silent split")
    for _ in sys.stdin:
        job.trigger_savepoint(f"{directory}/savepoints").result()


if __name__ == "__main__":
    main()
