"""The Spark session of the contenders that use Spark directly: two cores, settings that favour Python."""

from __future__ import annotations

import os
import socket
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count
from pyspark.sql.functions import sum as sum_of

from common.contender import Arguments, Result

PARALLELISM = 2
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def make_session(**settings: str) -> SparkSession:
    """A session on two cores; `settings` are names with `__` for the dots."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master(f"local[{PARALLELISM}]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", str(PARALLELISM))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50000")
        .config("spark.python.udf.pipelined.enabled", "true")
        # Penstock sets it, too. Over TCP each side waits for the other to acknowledge small pieces.
        .config("spark.python.unix.domain.socket.enabled", str(hasattr(socket, "AF_UNIX")).lower())
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def stream_of_files(spark: SparkSession, arguments: Arguments) -> DataFrame:
    """The input as a stream of (k, v, ts)."""
    return (
        spark.readStream.schema("k long, v long, ts long")
        .option("maxFilesPerTrigger", arguments.files_per_epoch)
        .option("pathGlobFilter", "part-*.json")
        .json(str(arguments.input))
    )


def run_counted(results: DataFrame, value: str, arguments: Arguments) -> None:
    """Runs a streaming query to the end of its input; writes how many results there were, and the sum of a value."""
    result = Result()

    def take(batch: DataFrame, number: int) -> None:
        answer = batch.agg(count("*"), sum_of(value)).first()
        assert answer is not None
        result.outputs += answer[0]
        result.checksum += answer[1] or 0

    query = (
        results.writeStream.outputMode("append")
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
