"""The keyed count of `penstock_job.py` by PySpark's transformWithState, in micro-batches as fast as they go.

spark_job.py BOOTSTRAP SOURCE TARGET WORK
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as f
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

from common.spark import ROCKSDB, make_session
from common.spark_kafka.jars import spark_kafka_jars


class Count(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", StructType([StructField("n", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        stored = self.count.get()
        count = 0 if stored is None else stored[0]
        for row in rows:
            count += 1
            yield Row(k=key[0], t=row.t, n=count)
        self.count.update((count,))

    def close(self) -> None:
        return


def main() -> None:
    bootstrap, source, target, work = sys.argv[1:]
    session = make_session(
        spark__jars=",".join(spark_kafka_jars()), spark__sql__streaming__stateStore__providerClass=ROCKSDB
    )
    messages = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.fetch.max.wait.ms", "20")
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .load()
    )
    records = messages.select(f.from_json(f.col("value").cast("string"), "k string, t double").alias("r")).select("r.*")
    counts = records.groupBy("k").transformWithState(
        Count(), StructType.fromDDL("k string, t double, n long"), "Append", "None"
    )
    query = (
        counts.select(f.to_json(f.struct("k", "t", "n")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", target)
        .option("checkpointLocation", f"{work}/checkpoint")
        .outputMode("append")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
