"""A running sum per key in Penstock, from Kafka."""

from __future__ import annotations

import os

from common.contender import parse_arguments
from common.kafka_input import fill_topic
from common.penstock_job import PARALLELISM, RECORD_TYPE, make_environment, run_counted
from keyed_sum.running_sum import SUM_TYPE, RunningSum
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource


def main() -> None:
    arguments = parse_arguments()
    bootstrap = os.environ["BENCHMARK_BROKER"]
    fill_topic(bootstrap, "records", PARALLELISM, arguments.input)
    env = make_environment(arguments)
    schema = JsonDeserializationSchema(RECORD_TYPE)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics("records")
        .set_group_id("benchmark")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(schema)
        .build()
    )
    sums = env.from_source(source, source_name="records").key_by("k").process(RunningSum(), SUM_TYPE)
    run_counted(env, sums, arguments)


if __name__ == "__main__":
    main()
