"""JSON files into Parquet files by Spark's own reader and writer, as many at a time as the other contender reads."""

from __future__ import annotations

import time

import pyarrow.compute as pc
import pyarrow.parquet as pq

from common.contender import Result, parse_arguments
from common.inputs import input_files
from common.spark import make_session


def main() -> None:
    arguments = parse_arguments()
    spark = make_session()
    files = input_files(arguments.input)
    result = Result()
    for first in range(0, len(files), arguments.files_per_epoch):
        target = arguments.work / f"output-{first:05d}"
        started = time.perf_counter()
        records = spark.read.schema("k bigint, v bigint, ts bigint").json(
            files[first : first + arguments.files_per_epoch]
        )
        records.write.parquet(str(target))
        seconds = time.perf_counter() - started
        values = pq.read_table(target, columns=["v"]).column("v")
        result.add(len(values), pc.sum(values).as_py(), seconds)
    result.write(arguments.result)


if __name__ == "__main__":
    main()
