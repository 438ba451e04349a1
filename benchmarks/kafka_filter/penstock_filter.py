"""A topic of JSON into a declarative map and filter, in Penstock."""

from __future__ import annotations

import os

from common.contender import parse_arguments
from common.inputs import stateless_filter, stateless_map
from common.kafka_input import fill_topic
from common.penstock_job import PARALLELISM, RECORD_TYPE, make_environment, run_counted
from penstock.connectors.deserialization import JsonDeserializationSchema
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.expressions import col, this


def main() -> None:
    arguments = parse_arguments()
    bootstrap = os.environ["BENCHMARK_BROKER"]
    fill_topic(bootstrap, "records", PARALLELISM, arguments.input)
    env = make_environment(arguments)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics("records")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(JsonDeserializationSchema(RECORD_TYPE))
        .build()
    )
    mapped = env.from_source(source, source_name="records").map(stateless_map(col("k"), col("v"), col("ts")))
    run_counted(env, mapped.filter(stateless_filter(this())), arguments)


if __name__ == "__main__":
    main()
