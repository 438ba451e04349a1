"""JSON files into Parquet files, exactly once."""

from __future__ import annotations

import time
from itertools import groupby
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from common.contender import Result, parse_arguments
from common.penstock_job import RECORD_TYPE, make_environment
from penstock.datastream.connectors.file_system import FileSink, FileSource, JsonLinesFormat


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
    output = arguments.work / "output"
    env.from_source(source, source_name="records").sink_to(FileSink(output, "parquet"))
    started = time.time()
    env.execute("benchmark")
    read_epochs(output, started).write(arguments.result)


def read_epochs(output: Path, started: float) -> Result:
    """What is in the files of each epoch; its time is that since the one before was renamed into view."""
    result = Result()
    for _, group in groupby(sorted(output.glob("*.parquet")), key=lambda path: path.stem.rpartition("-")[0]):
        files = list(group)
        published = max(path.stat().st_ctime for path in files)
        values = [pq.read_table(path, columns=["v"]).column("v") for path in files]
        result.add(sum(map(len, values)), sum(pc.sum(column).as_py() for column in values), published - started)
        started = published
    return result


if __name__ == "__main__":
    main()
