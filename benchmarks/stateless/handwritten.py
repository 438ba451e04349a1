"""Map and filter by hand: a Python loop per record inside mapInArrow, files read by pyarrow."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from common.contender import Result, parse_arguments
from common.inputs import input_files, stateless_filter, stateless_map
from common.json_columns import read_columns
from common.spark import PARALLELISM, make_session

ANSWER = "records long, outputs long, checksum long"
BUFFER_RECORDS = 50_000


def map_and_filter(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    records = outputs = checksum = 0
    for batch in batches:
        for path in batch.column(0).to_pylist():
            for part in read_columns(path).to_batches(BUFFER_RECORDS):
                rows = zip(*(column.to_pylist() for column in part.columns), strict=True)
                mapped = (stateless_map(k, v, ts) for k, v, ts in rows)
                kept = pa.array([value for value in mapped if stateless_filter(value)], pa.int64())
                records += part.num_rows
                outputs += len(kept)
                checksum += pc.sum(kept).as_py() or 0
    counts = [pa.array([count]) for count in (records, outputs, checksum)]
    yield pa.RecordBatch.from_arrays(counts, ["records", "outputs", "checksum"])


def main() -> None:
    arguments = parse_arguments()
    spark = make_session()
    files = input_files(arguments.input)
    result = Result()
    for first in range(0, len(files), arguments.files_per_epoch):
        started = time.perf_counter()
        paths = [(path,) for path in files[first : first + arguments.files_per_epoch]]
        answers = (
            spark.createDataFrame(paths, "path string").repartition(PARALLELISM).mapInArrow(map_and_filter, ANSWER)
        )
        records, outputs, checksum = (sum(column) for column in zip(*answers.collect(), strict=True))
        result.add(outputs, checksum, time.perf_counter() - started, records)
    result.write(arguments.result)


if __name__ == "__main__":
    main()
