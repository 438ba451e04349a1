"""Running sums per key into a table of PostgreSQL, a row replaced for every record, exactly once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.contender import Result, parse_arguments
from common.penstock_job import RECORD_TYPE, make_environment
from penstock.cli.dev_servers import PostgresServer
from penstock.cli.dev_servers.postgres import PASSWORD, USER
from penstock.common import Row, Types
from penstock.common.cache_directory import CACHE_VARIABLE
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.session import Session
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
    TokenPublisher,
)
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.state import ValueStateDescriptor

TABLE = "sums"
SUM_TYPE = Types.ROW_NAMED(["k", "n", "total"], [Types.LONG(), Types.LONG(), Types.LONG()])


class CountAndSum(KeyedProcessFunction):
    """The number of a key's records so far, and their sum: with both, the final rows tell a right answer."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sums = runtime_context.get_state(ValueStateDescriptor("sum", Types.TUPLE([Types.LONG(), Types.LONG()])))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        count, total = self._sums.value() or (0, 0)
        count, total = count + 1, total + value.v
        self._sums.update((count, total))
        yield Row(k=value.k, n=count, total=total)


class TimedSink(Sink):
    """The sink, with a note of when each piece was published."""

    def __init__(self, sink: JdbcSink, notes: Path) -> None:
        self._sink = sink
        self._notes = notes

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return self._sink.guarantee

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return self._sink.create_writer(context)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        return self._sink.create_committer(context)

    def create_publisher(self, context: PublisherContext) -> TokenPublisher | None:
        publisher = self._sink.create_publisher(context)
        return None if publisher is None else _TimedPublisher(publisher, self._notes)


class _TimedPublisher(TokenPublisher):
    def __init__(self, publisher: TokenPublisher, notes: Path) -> None:
        self._publisher = publisher
        self._notes = notes

    def publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        self._publisher.publish(epoch, tokens)
        with self._notes.open("a") as file:
            file.write(json.dumps([time.time(), sum(token["rows"] for token in tokens)]) + "\n")

    def close(self) -> None:
        self._publisher.close()


def main() -> None:
    os.environ.setdefault(CACHE_VARIABLE, str(Path(__file__).resolve().parents[2] / ".cache"))
    arguments = parse_arguments()
    server = PostgresServer(arguments.work / "postgres", settings={"max_wal_size": "4GB"}, fetch=False)
    try:
        server.start()
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        connection = builder.with_url(server.address).with_user_name(USER).with_password(PASSWORD).build()
        session = Session(database_of(connection), 3, RuntimeError)
        session.transaction(
            lambda cursor: cursor.execute(f"CREATE TABLE {TABLE} (k bigint PRIMARY KEY, n bigint, total bigint)")
        )
        env = make_environment(arguments)
        source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
        sums = env.from_source(source, None, "records").key_by("k").process(CountAndSum(), SUM_TYPE)
        notes = arguments.work / "published"
        sums.sink_to(TimedSink(JdbcSink.upsert(TABLE, ["k"], SUM_TYPE, connection), notes))
        started = time.time()
        env.execute("benchmark")
        result = Result()
        for published, rows in sorted(json.loads(line) for line in notes.read_text().splitlines()):
            result.samples.append((rows, published - started))
            started = published

        def answer(cursor):
            cursor.execute(f"SELECT sum(n)::bigint, sum(total * (n + 1) / 2)::bigint FROM {TABLE}")
            return cursor.fetchone()

        result.outputs, result.checksum = session.transaction(answer)
        session.close()
        result.write(arguments.result)
    finally:
        server.delete()


if __name__ == "__main__":
    main()
