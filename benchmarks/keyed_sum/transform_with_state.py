"""A running sum per key by PySpark's transformWithState: rows, RocksDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import count
from pyspark.sql.functions import sum as sum_of
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

from common.contender import Result, parse_arguments
from common.spark import ROCKSDB, make_session


class RunningSum(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.sum = handle.getValueState("sum", StructType([StructField("s", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        stored = self.sum.get()
        total = 0 if stored is None else stored[0]
        for row in rows:
            total += row.v
            yield Row(k=key[0], s=total)
        self.sum.update((total,))

    def close(self) -> None:
        return


def main() -> None:
    arguments = parse_arguments()
    spark = make_session(spark__sql__streaming__stateStore__providerClass=ROCKSDB)
    result = Result()

    def take(batch: DataFrame, number: int) -> None:
        answer = batch.agg(count("*"), sum_of("s")).first()
        result.outputs += answer[0]
        result.checksum += answer[1]

    sums = (
        spark.readStream.schema("k long, v long, ts long")
        .option("maxFilesPerTrigger", arguments.files_per_epoch)
        .option("pathGlobFilter", "part-*.json")
        .json(str(arguments.input))
        .groupBy("k")
        .transformWithState(RunningSum(), StructType.fromDDL("k long, s long"), "Append", "None")
    )
    query = (
        sums.writeStream.foreachBatch(take)
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
