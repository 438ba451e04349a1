"""Nexmark in PyFlink's DataStream API, parallelism 2: Python between a source and a sink in the JVM.

Rows come from a table, with event time and watermarks that the JVM has set, and go back to one: the sink of the Flink
SQL program counts them.
"""

from __future__ import annotations

import os

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

from nexmark.peers.arguments import Arguments, Report, parse_arguments
from nexmark.peers.flink_job import Answer, FlinkJob
from nexmark.peers.pyflink_programs import PROGRAMS
from nexmark.peers.pyflink_streams import Streams
from nexmark.schema import DECIMAL

# Without it a local job runs all Python functions in threads of this process.
os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112 (the name that PyFlink reads)
MINI_BATCH = "table.exec.mini-batch.enabled"
BUNDLES_AND_CACHES = {
    "python.fn-execution.bundle.size": "10000",
    "python.fn-execution.bundle.time": "1000",
    "python.fn-execution.arrow.batch.size": "10000",
    # State that was used is kept in Python until the end of a bundle, as far as it fits.
    "python.state.cache-size": "100000",
    "python.map-state.read-cache-size": "100000",
    "python.map-state.write-cache-size": "100000",
}


def main() -> None:
    arguments = parse_arguments()
    program = PROGRAMS[arguments.query]
    mode = os.environ.get("PYFLINK_EXECUTION_MODE", program.mode)
    report = Report(settings=f"{mode} mode, bundles of 10,000, heap state, no checkpoints")
    # One reader: where the Python of one subtask starts later, the other would take both files, one after the other.
    job = FlinkJob(arguments, report, readers=1)
    configuration = Configuration()
    # Mini-batches put watermarks of processing time into the streams of rows; behind Python there may be such.
    for name, value in {
        **job.settings,
        **BUNDLES_AND_CACHES,
        "python.execution-mode": mode,
        MINI_BATCH: "false",
    }.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    tables = StreamTableEnvironment.create(env)
    job.declare_tables(tables)
    results = program.build(Streams(tables, arguments))
    tables.get_config().set(MINI_BATCH, "true")
    schema = Schema.new_builder().column_by_expression("arrived", "PROCTIME()").build()
    tables.create_temporary_view("given", tables.from_data_stream(results, schema))
    tables.create_temporary_view("answer", tables.sql_query(answer_query(arguments)))
    job.run(tables, Answer("answer"), env)
    report.write(arguments.result)


def answer_query(arguments: Arguments) -> str:
    """The rows that count: where rows are not kept, the last of every key."""
    result, key = arguments.description.result, arguments.description.key
    cast = {name: f"CAST(`{name}` AS DECIMAL(23, 3)) AS `{name}`" for name, kind in result if kind == DECIMAL}
    names = ", ".join(cast.get(name, f"`{name}`") for name, _ in result)
    if not key or arguments.rows is not None:
        return f"SELECT {names} FROM given"
    keys = ", ".join(f"`{name}`" for name in key)
    newest = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY arrived DESC) AS place FROM given"
    return f"SELECT {names} FROM ({newest}) WHERE place = 1"


if __name__ == "__main__":
    main()
