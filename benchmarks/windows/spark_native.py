"""Sum and count per key and 10 s by Spark itself: groupBy(window(...)) in append mode, RocksDB."""

from __future__ import annotations

from pyspark.sql.functions import count, timestamp_millis, window
from pyspark.sql.functions import sum as sum_of

from common.contender import parse_arguments
from common.inputs import OUT_OF_ORDERNESS_MS, WINDOW_MS
from common.spark import ROCKSDB, make_session, run_counted, stream_of_files


def main() -> None:
    arguments = parse_arguments()
    spark = make_session(spark__sql__streaming__stateStore__providerClass=ROCKSDB)
    windows = (
        stream_of_files(spark, arguments)
        .withColumn("time", timestamp_millis("ts"))
        .withWatermark("time", f"{OUT_OF_ORDERNESS_MS} milliseconds")
        .groupBy("k", window("time", f"{WINDOW_MS} milliseconds"))
        .agg(sum_of("v").alias("total"), count("*").alias("n"))
    )
    run_counted(windows, "total", arguments)


if __name__ == "__main__":
    main()
