"""Sum and count per key and 10 s by Spark itself: groupBy(window(...)) in append mode, RocksDB."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.functions import count, timestamp_millis, window
from pyspark.sql.functions import sum as sum_of

from common.contender import Result, parse_arguments
from common.inputs import OUT_OF_ORDERNESS_MS, WINDOW_MS
from common.spark import ROCKSDB, make_session


def main() -> None:
    arguments = parse_arguments()
    spark = make_session(spark__sql__streaming__stateStore__providerClass=ROCKSDB)
    result = Result()

    def take(batch: DataFrame, number: int) -> None:
        answer = batch.agg(count("*"), sum_of("total")).first()
        assert answer is not None
        result.outputs += answer[0]
        result.checksum += answer[1] or 0

    windows = (
        spark.readStream.schema("k long, v long, ts long")
        .option("maxFilesPerTrigger", arguments.files_per_epoch)
        .option("pathGlobFilter", "part-*.json")
        .json(str(arguments.input))
        .withColumn("time", timestamp_millis("ts"))
        .withWatermark("time", f"{OUT_OF_ORDERNESS_MS} milliseconds")
        .groupBy("k", window("time", f"{WINDOW_MS} milliseconds"))
        .agg(sum_of("v").alias("total"), count("*").alias("n"))
    )
    query = (
        windows.writeStream.outputMode("append")
        .foreachBatch(take)
        .option("checkpointLocation", str(arguments.work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    result.samples = [
        (progress["numInputRows"], progress["durationMs"]["triggerExecution"] / 1000)
        for progress in query.recentProgress
        if progress["numInputRows"]
    ]
    result.write(arguments.result)


if __name__ == "__main__":
    main()
