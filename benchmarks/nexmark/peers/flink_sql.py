"""Nexmark in Flink SQL, in the JVM: parallelism 2, state on the heap, mini-batches as the Nexmark suite sets them."""

from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment

from nexmark.peers.arguments import Report, parse_arguments
from nexmark.peers.flink_job import Answer, FlinkJob
from nexmark.peers.flink_queries import QUERIES


def main() -> None:
    arguments = parse_arguments()
    report = Report(settings="heap state, mini-batches, no checkpoints")
    query = QUERIES[arguments.query]
    job = FlinkJob(arguments, report)
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in job.settings.items():
        tables.get_config().set(name, value)
    job.declare_tables(tables)
    for name, view in (*query.views, ("answer", query.select)):
        tables.create_temporary_view(name, tables.sql_query(view))
    job.run(tables, Answer("answer", bool(arguments.description.key), query.partitioned_by))
    report.write(arguments.result)


if __name__ == "__main__":
    main()
