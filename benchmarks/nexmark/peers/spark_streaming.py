"""Nexmark in Spark Structured Streaming: two cores, RocksDB, micro-batches until all of the input is read."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from common.spark import ROCKSDB, make_session
from nexmark.checksums import MODULUS
from nexmark.peers.arguments import Arguments, Report, parse_arguments
from nexmark.peers.final_rows import count_final_rows, final_rows
from nexmark.peers.spark_input import slice_input
from nexmark.peers.spark_queries import QUERIES, SparkQuery, Tables
from nexmark.schema import DECIMAL, TEXT, Columns, Query


def main() -> None:
    arguments = parse_arguments()
    report = Report(settings="RocksDB, micro-batches")
    query = QUERIES[arguments.query]
    with report.aside():
        sliced = slice_input(arguments, end_time=query.waits_for_watermark)
    # Commits of RocksDB are checkpoints: every epoch can be taken up again, as those of Penstock can.
    spark = make_session(
        spark__sql__streaming__stateStore__providerClass=ROCKSDB,
        spark__sql__session__timeZone="UTC",
        spark__sql__streaming__numRecentProgressUpdates="100000",
        spark__driver__memory="4g",
    )
    run(spark, query, Tables(spark, sliced, arguments.input / "side_input.csv"), arguments, report)
    report.write(arguments.result)


def run(spark: SparkSession, query: SparkQuery, tables: Tables, arguments: Arguments, report: Report) -> None:
    """Runs the query to the end of its input."""
    description = arguments.description
    names = [name for name, _ in description.result]
    changes = query.mode == "update"
    directory = arguments.rows or arguments.work / "rows"
    keeps_rows = changes or arguments.rows is not None
    counted = [0, 0]

    def write(batch: DataFrame, number: int) -> None:
        batch.write.parquet(str(directory / f"epoch-{number:06d}"))

    def count(batch: DataFrame, number: int) -> None:
        answer = batch.agg(f.count("*"), f.sum(_square(description.result))).first()
        assert answer is not None
        counted[0] += answer[0]
        counted[1] += answer[1] or 0

    stream = query.build(tables).select(*names).writeStream.outputMode(query.mode)
    started = time.time()
    running = (
        stream.foreachBatch(write if keeps_rows else count)
        .option("checkpointLocation", str(arguments.work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    report.first_record_read(started)
    report.samples = samples_of(running.recentProgress, arguments.records())
    if not keeps_rows:
        report.rows, report.checksum = counted
        return
    with report.aside():
        if arguments.query == "q12":
            report.bid_total = keep_final_counts(directory, replace(description, key=("bidder", "starttime")))
        else:
            report.rows, report.checksum = count_final_rows(directory, description)


def keep_final_counts(directory: Path, query: Query) -> int:
    """Leaves but the last count of every window; how many bids they have together."""
    final = pa.concat_tables(final_rows(directory, query))
    shutil.rmtree(directory)
    directory.mkdir()
    pq.write_table(final, directory / "final.parquet")
    return pc.sum(final["bid_count"]).as_py()


def samples_of(progress: list[Any], records: int) -> list[tuple[int, float]]:
    """(records, seconds) of the micro-batches; what comes behind the last record is time of the last one with any."""
    samples: list[tuple[int, float]] = []
    left = records
    for each in progress:
        # A table that is joined to itself is read twice.
        read = {source["description"]: source["numInputRows"] for source in each["sources"]}
        seconds = each["durationMs"]["triggerExecution"] / 1000
        if (taken := min(sum(read.values()), left)) or not samples:
            samples.append((taken, seconds))
            left -= taken
        else:
            samples[-1] = (samples[-1][0], samples[-1][1] + seconds)
    return samples


def _square(columns: Columns) -> Column:
    total = f.lit(0)
    for place, (name, kind) in enumerate(columns, 1):
        total = total + f.coalesce(_number(f.col(name), kind), f.lit(0)) * place
    return (total % MODULUS) * (total % MODULUS)


def _number(column: Column, kind: str) -> Column:
    if kind == TEXT:
        return f.length(column).cast("long")
    return (column * 1000).cast("long") if kind == DECIMAL else column


if __name__ == "__main__":
    main()
