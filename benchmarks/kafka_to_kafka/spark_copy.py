"""Copies a topic with Spark's own Kafka source and sink: Structured Streaming, at least once, no Python per record."""

from __future__ import annotations

from common.contender import parse_arguments
from common.inputs import input_files, records_of
from common.spark import make_session
from common.spark_kafka.jars import spark_kafka_jars
from kafka_to_kafka.topics import SOURCE, TARGET, make_topics, write_result


def main() -> None:
    arguments = parse_arguments()
    jars = spark_kafka_jars()
    bootstrap = make_topics(arguments)
    session = make_session(spark__jars=",".join(jars))
    per_file = records_of(arguments.input) // len(input_files(arguments.input))
    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", SOURCE)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_file * arguments.files_per_epoch)
        .load()
    )
    query = (
        records.select("value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", TARGET)
        .option("checkpointLocation", str(arguments.work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    samples = [(batch["numInputRows"], batch["durationMs"]["triggerExecution"] / 1000) for batch in batches]
    write_result(arguments, bootstrap, samples)


if __name__ == "__main__":
    main()
