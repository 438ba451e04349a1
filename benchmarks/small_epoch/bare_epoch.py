"""The least that an epoch of two Python stages costs: an empty Spark job of that shape, over and over."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pyarrow as pa

from common.spark import PARALLELISM, make_session

WARM_UP = 20
ROUNDS = 60


def to_both(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_arrays([pa.array(range(PARALLELISM), pa.int32())], ["target"])


def main() -> None:
    spark = make_session()
    times: list[float] = []
    for _ in range(WARM_UP + ROUNDS):
        started = time.perf_counter()
        tasks = spark.range(0, PARALLELISM, 1, PARALLELISM)
        sent = tasks.mapInArrow(to_both, "target int").repartitionById(PARALLELISM, "target")
        sent.mapInArrow(to_both, "target int").collect()
        times.append((time.perf_counter() - started) * 1000)
    print(statistics.median(times[WARM_UP:]))


if __name__ == "__main__":
    main()
