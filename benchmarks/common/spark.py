"""The Spark session of the contenders that use Spark directly: two cores, settings that favour Python."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

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
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
