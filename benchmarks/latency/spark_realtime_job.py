"""Kafka to Kafka by Spark's own real-time trigger: plans of expressions in Catalyst alone, without Python.

spark_realtime_job.py BOOTSTRAP SOURCE TARGET WORK SHAPE

SHAPE is `stateless` or `maximum`, as in `penstock_job.py`. Not windows: with this trigger Spark tells the count of a
window with every record, and never that the window has ended.
"""

from __future__ import annotations

import sys

from pyspark.sql import functions as f

from common.spark import ROCKSDB, make_session
from common.spark_kafka.jars import spark_kafka_jars

EPOCH = "10 seconds"
SLOTS = "local[8]"
"""All tasks of both stages run at once; they need no core each."""


def main() -> None:
    bootstrap, source, target, work, shape = sys.argv[1:]
    session = make_session(
        spark__master=SLOTS,
        spark__jars=",".join(spark_kafka_jars()),
        spark__sql__streaming__stateStore__providerClass=ROCKSDB,
        spark__shuffle__manager="org.apache.spark.shuffle.streaming.MultiShuffleManager",
        spark__shuffle__streaming__networkBufferMaxWaitTimeMs="1",
    )
    messages = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .load()
    )
    records = messages.select(f.from_json(f.col("value").cast("string"), "k string, t double").alias("r")).select("r.*")
    results = records.where("t > 0") if shape == "stateless" else records.groupBy("k").agg(f.max("t").alias("t"))
    query = (
        results.select(f.to_json(f.struct("k", "t")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", target)
        .option("checkpointLocation", f"{work}/checkpoint")
        .outputMode("update")
        .trigger(realTime=EPOCH)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
