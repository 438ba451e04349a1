"""What both Flink programs share: settings, the tables of the input, and the run itself."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import TableEnvironment

from nexmark.peers.arguments import WATERMARK_DELAY_MS, Arguments, Report
from nexmark.peers.flink_checksum import checksum_query
from nexmark.peers.flink_input import READERS, one_file_per_reader
from nexmark.peers.flink_jars import flink_parquet_jars
from nexmark.peers.flink_progress import Progress, free_port
from nexmark.schema import DECIMAL, LONG, TABLES, TEXT

HEAP, HEAP_FOR_MUCH_STATE = "2g", "10g"
# State of these queries grows with the input: rows of joins, and a value for each of very many keys.
MUCH_STATE = {"q4", "q7", "q9", "q16", "q18", "q19", "q20", "q23", "c0", "c1", "c2", "c3"}
SQL_TYPES = {LONG: "BIGINT", TEXT: "STRING", DECIMAL: "DECIMAL(23, 3)"}
# Buffers and bundles hold tens of thousands of rows between the source and Python: of fewer records than these, what
# the source has read says little of what was done.
MANY_FOR_PYTHON = 500_000
COMMIT_INTERVAL = "10 s"
COMMIT_PARTITIONS = {
    "sink.partition-commit.trigger": "partition-time",
    "sink.partition-commit.delay": "1 min",
    "sink.partition-commit.policy.kind": "success-file",
    "sink.partition-commit.watermark-time-zone": "UTC",
    "partition.time-extractor.timestamp-pattern": "$dt $hm:00",
}
OP = "CASE `op` WHEN 'INSERT' THEN '+I' WHEN 'UPDATE_AFTER' THEN '+U' WHEN 'UPDATE_BEFORE' THEN '-U' ELSE '-D' END"


@dataclass(frozen=True)
class Answer:
    """The view with the rows of a result."""

    view: str
    changes: bool = False
    """It takes back rows that it gave."""
    partitioned_by: tuple[str, ...] = ()
    """Files are written in any case, under these columns."""


class FlinkJob:
    """A query from its input to its answer, with parallelism 2."""

    def __init__(self, arguments: Arguments, report: Report, readers: int = READERS) -> None:
        self._arguments = arguments
        self._report = report
        self._port = free_port()
        os.environ["JVM_ARGS"] = f"-Xmx{HEAP_FOR_MUCH_STATE if arguments.query in MUCH_STATE else HEAP}"
        with report.aside():
            jars = flink_parquet_jars()
            self._input = {
                table: one_file_per_reader(arguments.files_of(table), arguments.work / "input" / table, readers)
                for table in arguments.description.reads
            }
        self.settings = {
            "parallelism.default": str(READERS),
            "taskmanager.numberOfTaskSlots": str(READERS),
            "table.local-time-zone": "UTC",
            "pipeline.object-reuse": "true",
            "pipeline.jars": ";".join(f"file://{jar}" for jar in jars),
            "table.exec.mini-batch.enabled": "true",
            "table.exec.mini-batch.allow-latency": "2 s",
            "table.exec.mini-batch.size": "50000",
            "table.optimizer.distinct-agg.split.enabled": "true",
            "rest.port": str(self._port),
            "rest.bind-port": str(self._port),
            "metrics.fetcher.update-interval": "50",
            # No checkpoints: Flink's fastest way.
        }

    def declare_tables(self, tables: TableEnvironment) -> None:
        """Makes the tables that the query reads."""
        for table, directory in self._input.items():
            columns = ", ".join(f"`{name}` {SQL_TYPES[kind]}" for name, kind in TABLES[table])
            tables.execute_sql(
                f"""
                CREATE TABLE {table} (
                    {columns}, ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3), now_ts AS PROCTIME(),
                    WATERMARK FOR ts AS ts - INTERVAL '{WATERMARK_DELAY_MS // 1000}' SECOND
                ) WITH ('connector' = 'filesystem', 'path' = '{directory}', 'format' = 'parquet')
                """
            )
        tables.execute_sql(
            f"""
            CREATE TABLE side_input (
                `key` BIGINT, `value` STRING, ts AS TO_TIMESTAMP_LTZ(0, 3), WATERMARK FOR ts AS ts,
                PRIMARY KEY (`key`) NOT ENFORCED
            ) WITH ('connector' = 'filesystem', 'path' = '{self._arguments.input}/side_input.csv', 'format' = 'csv')
            """
        )

    def run(self, tables: TableEnvironment, answer: Answer, env: StreamExecutionEnvironment | None = None) -> None:
        """Runs a view to the end of its input; with `env` Python operators are chained, which SQL does not."""
        arguments, report = self._arguments, self._report
        rows = arguments.rows
        if answer.partitioned_by and rows is None:
            rows = arguments.work / "rows"
            report.output = str(rows)
        statement = self._insert_totals(tables, answer) if rows is None else self._insert_rows(tables, answer, rows)
        if env is None:
            client = tables.execute_sql(statement).get_job_client()
        else:
            statements = tables.create_statement_set()
            statements.add_insert_sql(statement)
            statements.attach_as_datastream()
            client = env.execute_async(arguments.query)
        with Progress(self._port, str(client.get_job_id())) as progress:
            client.get_job_execution_result().result()
            ended = time.time()
        report.first_record_read(progress.began)
        report.samples = progress.samples(arguments.records(), ended)
        if env is not None and arguments.records() < MANY_FOR_PYTHON:
            report.samples = [(arguments.records(), ended - progress.began)]
        if rows is not None:
            add_suffix(rows)
            return
        report.rows, total = last_totals(arguments.work / "totals")
        if arguments.query == "q12":
            report.bid_total = total
        else:
            report.checksum = total

    def _insert_totals(self, tables: TableEnvironment, answer: Answer) -> str:
        """The statement that adds up rows and their checksum, each version behind the one before."""
        totals = checksum_query(answer.view, self._arguments.description.result)
        if self._arguments.query == "q12":
            totals = f"SELECT COUNT(*) AS n, SUM(bid_count) AS total FROM {answer.view}"
        tables.create_temporary_view("totals", tables.sql_query(totals))
        tables.execute_sql(
            f"""
            CREATE TABLE kept (`op` STRING, n BIGINT, total BIGINT)
            WITH ('connector' = 'filesystem', 'path' = '{self._arguments.work}/totals', 'format' = 'csv',
                'sink.parallelism' = '1')
            """
        )
        return "INSERT INTO kept SELECT `op`, n, total FROM TO_CHANGELOG(input => TABLE totals)"

    def _insert_rows(self, tables: TableEnvironment, answer: Answer, rows: Path) -> str:
        """The statement that writes all rows, and of a result that changes all versions of them."""
        result = self._arguments.description.result
        columns = [f"`{name}` {SQL_TYPES[kind]}" for name, kind in result]
        names = ", ".join(f"`{name}`" for name, _ in result)
        source = f"SELECT {names} FROM {answer.view}"
        if answer.changes:
            columns.insert(0, "`op` STRING")
            tables.create_temporary_view("versions", tables.sql_query(source))
            source = f"SELECT {OP} AS `op`, {names} FROM TO_CHANGELOG(input => TABLE versions)"
        options = {"connector": "filesystem", "path": str(rows), "format": "parquet"}
        if answer.partitioned_by:
            tables.get_config().set("execution.checkpointing.interval", COMMIT_INTERVAL)
            options |= COMMIT_PARTITIONS
        tables.execute_sql(
            f"""
            CREATE TABLE kept ({", ".join(columns)})
            {f"PARTITIONED BY ({', '.join(answer.partitioned_by)})" if answer.partitioned_by else ""}
            WITH ({", ".join(f"'{name}' = '{value}'" for name, value in options.items())})
            """
        )
        return f"INSERT INTO kept {source}"


def last_totals(directory: Path) -> tuple[int, int]:
    """The last version of two totals; there is none where there was nothing to add up."""
    lines = [line for path in directory.glob("part-*") for line in path.read_text().splitlines()]
    if not lines:
        return 0, 0
    _, rows, total = lines[-1].split(",")
    return int(rows), int(total or 0)


def add_suffix(directory: Path) -> None:
    """Names the files of the result by their format, which Flink does not."""
    for path in [each for each in directory.rglob("part-*") if each.is_file()]:
        path.rename(path.with_name(f"{path.name}.parquet"))
