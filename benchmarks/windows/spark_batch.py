"""Sum and count per key and 10 s as a batch job of Spark: groupBy(window(...)), all in Catalyst."""

from __future__ import annotations

import time

from pyspark.sql.functions import count, timestamp_millis, window
from pyspark.sql.functions import sum as sum_of

from common.contender import Result, parse_arguments
from common.inputs import WINDOW_MS, input_files, records_of
from common.spark import make_session
from windows.batch_rounds import ROUNDS


def main() -> None:
    arguments = parse_arguments()
    spark = make_session()
    result = Result()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        windows = (
            spark.read.schema("k bigint, v bigint, ts bigint")
            .json(input_files(arguments.input))
            .groupBy("k", window(timestamp_millis("ts"), f"{WINDOW_MS} milliseconds"))
            .agg(sum_of("v").alias("total"), count("*").alias("n"))
        )
        answer = windows.agg(count("*"), sum_of("total")).first()
        assert answer is not None
        result.samples.append((records_of(arguments.input), time.perf_counter() - started))
        result.outputs, result.checksum = answer
    result.write(arguments.result)


if __name__ == "__main__":
    main()
