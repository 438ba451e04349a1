"""A topic of JSON into a map and a filter of columns, by hand in Spark: Structured Streaming, no Python per record."""

from __future__ import annotations

import os

from pyspark.sql.functions import col, from_json

from common.contender import parse_arguments
from common.inputs import input_files, records_of, stateless_filter, stateless_map
from common.kafka_input import fill_topic
from common.spark import PARALLELISM, make_session, run_counted
from common.spark_kafka.jars import spark_kafka_jars


def main() -> None:
    arguments = parse_arguments()
    session = make_session(spark__jars=",".join(spark_kafka_jars()))
    bootstrap = os.environ["BENCHMARK_BROKER"]
    fill_topic(bootstrap, "records", PARALLELISM, arguments.input)
    per_file = records_of(arguments.input) // len(input_files(arguments.input))
    messages = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "records")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_file * arguments.files_per_epoch)
        .load()
    )
    record = from_json(col("value").cast("string"), "k long, v long, ts long")
    records = messages.select(record.alias("record")).select("record.*")
    mapped = records.select(stateless_map(col("k"), col("v"), col("ts")).alias("mapped"))
    run_counted(mapped.filter(stateless_filter(col("mapped"))), "mapped", arguments)


if __name__ == "__main__":
    main()
