"""The same with Spark's own streaming: the last value of every key, in its RocksDB state store.

rocksdb_state.py INPUT CHECKPOINT
"""

from __future__ import annotations

import json
import statistics
import sys
import time

from pyspark.sql import functions as f

from common.spark import ROCKSDB, make_session

MEASURED = 8


def main() -> None:
    directory, checkpoint = sys.argv[1:3]
    spark = make_session()
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    records = spark.readStream.schema("k string, v string").option("maxFilesPerTrigger", 1).json(directory)
    # The last value by arrival: what a value state that is set for every record holds.
    last = records.groupBy("k").agg(f.last("v").alias("v"))
    started = time.perf_counter()
    query = (
        last.writeStream.outputMode("update")
        .format("noop")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds = time.perf_counter() - started
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    durations = [batch["durationMs"]["triggerExecution"] for batch in batches[-MEASURED:]]
    commits = [sum(each["commitTimeMs"] for each in batch["stateOperators"]) for batch in batches[-MEASURED:]]
    print(
        "RESULT "
        + json.dumps(
            {
                "epoch_ms": statistics.median(durations),
                "commit_ms": statistics.median(commits),
                "first_epoch_s": batches[0]["durationMs"]["triggerExecution"] / 1000,
                "seconds": seconds,
                "epochs": len(batches),
            }
        )
    )


if __name__ == "__main__":
    main()
