"""Files in, a rolling sum per key, rows of a table out, exactly once. Also run as a script."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from faults.rolling_job import INPUT, OUTPUT, RollingSum
from penstock.common import Configuration
from penstock.connectors.files import FileSource, JsonLinesFormat
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.execution.job_client import JobClient
from services.postgres import Postgres

COLUMNS = "k text, n bigint, total bigint, noise bigint"


def published(postgres: Postgres, table: str) -> Counter[tuple[str, int, int]]:
    """What a reader of the table sees."""
    return Counter(postgres.query(f"SELECT k, n, total FROM {table}"))


def start_table_job(
    directory: Path, table: str, connection: JdbcConnectionOptions, options: dict[str, str], *, noise: bool = True
) -> JobClient:
    """Starts or resumes the job."""
    configuration = Configuration()
    for key, value in {"execution.checkpointing.dir": str(directory / "checkpoint"), **options}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    files = FileSource.for_record_stream_format(JsonLinesFormat(INPUT), str(directory / "in")).build()
    sums = env.from_source(files, None, "payments").key_by("k").process(RollingSum(noise), output_type=OUTPUT)
    sums.sink_to(JdbcSink.insert(table, OUTPUT, connection))
    return env.execute_async("rolling sums into a table")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("table")
    parser.add_argument("url")
    arguments = parser.parse_args()
    connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(arguments.url).build()
    options = {"execution.engine": "local", "execution.epoch.max-records": "25"}
    start_table_job(arguments.directory, arguments.table, connection, options).wait()


if __name__ == "__main__":
    main()
