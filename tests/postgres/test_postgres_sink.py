"""The JDBC sink against a real PostgreSQL."""

from __future__ import annotations

import datetime
import math
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Instant, Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import JobExecutionException, SinkError
from penstock.common.typeinfo import RowTypeInfo
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.connectors.sink import CommitterContext, DeliveryGuarantee, EpochId, PublisherContext, SinkWriterContext
from penstock.state.storage import LocalCheckpointStorage
from penstock.testing import check_sink, local_environment
from services.postgres import Postgres
from services.silent_proxy import SilentProxy

NAMED = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
EVERYTHING = Types.ROW_NAMED(
    ["i", "small", "flag", "real", "text", "amount", "huge", "day", "clock", "at", "moment", "raw", "tags", "doc"],
    [
        Types.LONG(),
        Types.SHORT(),
        Types.BOOLEAN(),
        Types.DOUBLE(),
        Types.STRING(),
        Types.BIG_DEC(),
        Types.BIG_INT(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.STRING()),
        Types.MAP(Types.STRING(), Types.DOUBLE()),
    ],
)
EVERYTHING_COLUMNS = (
    "i bigint, small smallint, flag boolean, real double precision, text text, amount numeric, huge numeric, day date,"
    " clock time, at timestamp, moment timestamptz, raw bytea, tags text[], doc jsonb"
)
ROWS: list[tuple[Any, ...]] = [
    (
        1,
        -32768,
        True,
        0.1,
        'a "quoted", \\text\nof ü lines',
        Decimal("123456789012345678901234567890.123456789"),
        10**30,
        datetime.date(2024, 2, 29),
        datetime.time(23, 59, 59, 999999),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
        Instant(1_700_000_000, 123_456_000),
        b"\x00\xff\\x",
        ["a", 'b"\\', None, ""],
        {"x": 1.5},
    ),
    (2, 1, False, math.inf, "", Decimal("-0.10"), -1, *[None] * 7),
    (3, *[None] * 13),
]
EXPECTED = [
    (
        *ROWS[0][:10],
        datetime.datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=datetime.UTC),
        *ROWS[0][11:],
    ),
    *ROWS[1:],
]


def run_into(sink: JdbcSink, rows: list[Any], type_info: RowTypeInfo = NAMED) -> None:
    env = local_environment()
    env.from_collection(rows, type_info).sink_to(sink)
    env.execute()


@pytest.mark.parametrize("form", ["sink", "exactly_once", "insert", "upsert"])
def test_every_type_arrives_as_it_was(postgres: Postgres, form: str) -> None:
    table = postgres.create_table(EVERYTHING_COLUMNS.replace("i bigint", "i bigint PRIMARY KEY", 1))
    statement = f"INSERT INTO {table} VALUES ({', '.join('?' * len(ROWS[0]))})"
    match form:
        case "sink":
            sink = JdbcSink.sink(statement, EVERYTHING, postgres.options())
        case "exactly_once":
            sink = JdbcSink.exactly_once(statement, EVERYTHING, postgres.options())
        case "insert":
            sink = JdbcSink.insert(table, EVERYTHING, postgres.options())
        case _:
            sink = JdbcSink.upsert(table, ["i"], EVERYTHING, postgres.options())
    run_into(sink, [Row(*row) for row in ROWS], EVERYTHING)
    assert postgres.query(f"SELECT * FROM {table} ORDER BY i") == EXPECTED


def test_not_a_number_is_a_number_of_postgresql(postgres: Postgres) -> None:
    table = postgres.create_table("x double precision, y real")
    type_info = Types.ROW_NAMED(["x", "y"], [Types.DOUBLE(), Types.FLOAT()])
    run_into(JdbcSink.insert(table, type_info, postgres.options()), [Row(math.nan, -math.inf)], type_info)
    assert postgres.query(f"SELECT x = 'NaN', y = '-Infinity' FROM {table}") == [(True, True)]


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_an_upsert_replaces_rows_and_the_last_of_a_key_stays(postgres: Postgres, guarantee: DeliveryGuarantee) -> None:
    table = postgres.create_table("amount numeric, id bigint, name text, other int DEFAULT 7, PRIMARY KEY (id, amount)")
    postgres.execute(f"INSERT INTO {table} VALUES (1.0, 1, 'before', 5)")
    type_info = Types.ROW_NAMED(["id", "amount", "name"], [Types.LONG(), Types.BIG_DEC(), Types.STRING()])
    sink = JdbcSink.upsert(table, ["id", "amount"], type_info, postgres.options(), delivery_guarantee=guarantee)
    # Equal to PostgreSQL, though not the same text.
    rows = [Row(1, Decimal("1.00"), "first"), Row(2, Decimal(1), "a"), Row(1, Decimal(1), "last")]
    run_into(sink, rows, type_info)
    assert postgres.query(f"SELECT id, amount, name, other FROM {table} ORDER BY id") == [
        (1, Decimal("1.0"), "last", 5),
        (2, Decimal(1), "a", 7),
    ]


def test_an_upsert_of_keys_alone_leaves_what_is_there(postgres: Postgres) -> None:
    table = postgres.create_table("id bigint PRIMARY KEY, name text DEFAULT 'x'")
    type_info = Types.ROW_NAMED(["id"], [Types.LONG()])
    run_into(JdbcSink.upsert(table, ["id"], type_info, postgres.options()), [Row(1), Row(1), Row(2)], type_info)
    assert postgres.query(f"SELECT * FROM {table} ORDER BY id") == [(1, "x"), (2, "x")]


def test_names_may_have_any_characters(postgres: Postgres) -> None:
    postgres.execute('CREATE SCHEMA IF NOT EXISTS "my schema"')
    postgres.execute('CREATE TABLE "my schema"."a%s?""b" ("Order %" bigint PRIMARY KEY)')
    type_info = Types.ROW_NAMED(["Order %"], [Types.LONG()])
    run_into(JdbcSink.upsert('my schema.a%s?"b', ["Order %"], type_info, postgres.options()), [Row(1)], type_info)
    assert postgres.query('SELECT * FROM "my schema"."a%s?""b"') == [(1,)]


@pytest.mark.parametrize(
    ("columns", "keys", "message"),
    [
        (None, (), r"the table nowhere in postgresql://127\.0\.0\.1:\d+/postgres does not exist"),
        ("id bigint, title text", (), r"has no column name; its columns are id, title"),
        ("id bigint, name text", ("id",), r"no primary key and no unique index on exactly \(id\)"),
    ],
)
def test_a_table_that_cannot_take_the_rows_is_refused_at_the_start(
    postgres: Postgres, columns: str | None, keys: tuple[str, ...], message: str
) -> None:
    table = "nowhere" if columns is None else postgres.create_table(columns)
    with pytest.raises((SinkError, JobExecutionException), match=message):
        run_into(JdbcSink.upsert(table, keys, NAMED, postgres.options()), [Row(1, "a")])


def test_a_statement_that_fails_says_why(postgres: Postgres) -> None:
    sink = JdbcSink.sink("INSERT INTO nowhere VALUES (?, ?)", NAMED, postgres.options())
    with pytest.raises((SinkError, JobExecutionException), match=r'relation "nowhere" does not exist.* Make the table'):
        run_into(sink, [Row(1, "a")])


def test_a_wrong_password_is_an_error_at_once_and_is_not_shown(postgres: Postgres) -> None:
    sink = JdbcSink.insert("t", NAMED, postgres.options(password="s3cret-word"))
    with pytest.raises((SinkError, JobExecutionException), match="password authentication failed") as raised:
        run_into(sink, [Row(1, "a")])
    assert "CREATE TABLE" not in str(raised.value)
    assert "s3cret-word" not in str(raised.value) + repr(sink) + repr(postgres.options(password="s3cret-word"))


class Staged:
    """A sink in the hands of a test: one epoch after the other, published by hand."""

    def __init__(self, sink: JdbcSink, directory: Path) -> None:
        self.sink = sink
        self.storage = LocalCheckpointStorage(str(directory))
        committer = sink.create_committer(CommitterContext("job", "out", self.storage))
        assert committer is not None
        committer.recover(None)
        publisher = sink.create_publisher(PublisherContext("job", "out", 0, 1, self.storage))
        assert publisher is not None
        self.publisher = publisher

    def epoch(self, number: int, *rows: Row) -> None:
        epoch = EpochId(1, number)
        context = SinkWriterContext("job", "out", 0, 1, epoch, self.storage, f"sinks/1/{number}-0-0")
        writer = self.sink.create_writer(context)
        writer.write(Batch(codec_for(NAMED), values=list(rows)))
        self.publisher.publish(epoch, writer.prepare_commit())


@pytest.fixture
def books(postgres: Postgres) -> str:
    return f"books_{postgres.create_table('x int')}"


def test_a_connection_that_was_cut_is_made_again(postgres: Postgres, tmp_path: Path, books: str) -> None:
    table = postgres.create_table("id bigint, name text")
    staged = Staged(JdbcSink.insert(table, NAMED, postgres.options(), bookkeeping_table=books), tmp_path)
    staged.epoch(1, Row(1, "a"))
    cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'penstock'"
    assert postgres.query(cut)[0][0] >= 1
    staged.epoch(2, Row(2, "b"))
    staged.publisher.close()
    assert postgres.query(f"SELECT id FROM {table} ORDER BY id") == [(1,), (2,)]
    assert postgres.query(f"SELECT epoch FROM {books}") == [(2,)]


def test_a_deadlock_is_tried_again(postgres: Postgres, tmp_path: Path, books: str) -> None:
    table = postgres.create_table("id bigint PRIMARY KEY, name text")
    postgres.execute(f"INSERT INTO {table} VALUES (1, 'x'), (2, 'x')")
    staged = Staged(JdbcSink.upsert(table, ["id"], NAMED, postgres.options(), bookkeeping_table=books), tmp_path)
    with postgres.connection() as other, other.transaction():
        # The other one holds row 2 and then wants row 1, which the sink holds while it waits for row 2.
        other.execute("SET LOCAL deadlock_timeout = '10s'")
        other.execute(f"UPDATE {table} SET name = 'other' WHERE id = 2")
        publishing = threading.Thread(target=staged.epoch, args=(1, Row(1, "a"), Row(2, "a")))
        publishing.start()
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while postgres.query(waits) == [(0,)] and publishing.is_alive():
            pass
        other.execute(f"UPDATE {table} SET name = 'other' WHERE id = 1")
    publishing.join(60)
    staged.publisher.close()
    assert postgres.query(f"SELECT * FROM {table} ORDER BY id") == [(1, "a"), (2, "a")]


def test_a_statement_that_takes_too_long_is_given_up(postgres: Postgres, tmp_path: Path, books: str) -> None:
    table = postgres.create_table("id bigint PRIMARY KEY, name text")
    options = postgres.options(statement_timeout=1)
    staged = Staged(JdbcSink.insert(table, NAMED, options, bookkeeping_table=books), tmp_path)
    with postgres.connection() as other, other.transaction():
        other.execute(f"INSERT INTO {table} VALUES (1, 'other')")
        with pytest.raises(SinkError, match="longer than with_statement_timeout_seconds"):
            staged.epoch(1, Row(1, "a"))
    staged.publisher.close()


def test_exactly_once_holds(postgres: Postgres) -> None:
    def new_target(directory: Path) -> Any:
        table = postgres.create_table("id bigint, name text")
        # Job and uid are the same in every trial.
        sink = JdbcSink.insert(table, NAMED, postgres.options(), bookkeeping_table=f"books_{table}")
        return sink, lambda: [Row(id=key, name=name) for key, name in postgres.query(f"SELECT * FROM {table}")]

    records = [Row(id=number, name=f"n{number}") for number in range(12)]
    report = check_sink(new_target, records, NAMED, inside=False)
    assert report.may_promise is DeliveryGuarantee.EXACTLY_ONCE


def test_options_of_a_url(postgres: Postgres) -> None:
    url = f"{postgres.address}?user=penstock&password=penstock&currentSchema=public&ApplicationName=shop&sslmode=prefer"
    table = postgres.create_table("id bigint, name text")
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()
    run_into(JdbcSink.insert(table, NAMED, options), [Row(1, None)])
    assert postgres.query(f"SELECT * FROM {table}") == [(1, None)]


def through(proxy: SilentProxy, postgres: Postgres) -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    url = postgres.address.replace(f":{postgres.port}/", f":{proxy.port}/")
    builder = builder.with_url(url).with_user_name("penstock").with_password("penstock").with_connect_timeout_seconds(2)
    return builder.with_statement_timeout_seconds(1).with_connection_check_timeout_seconds(1).build()


def test_a_server_that_says_nothing_is_given_up_and_found_again(
    postgres: Postgres, tmp_path: Path, books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.jdbc.postgres_connection.GRACE_SECONDS", 0.5)
    table = postgres.create_table("id bigint, name text")
    with SilentProxy(postgres.port) as proxy:
        staged = Staged(JdbcSink.insert(table, NAMED, through(proxy, postgres), bookkeeping_table=books), tmp_path)
        staged.epoch(1, Row(1, "a"))
        proxy.swallows = True
        with pytest.raises(SinkError, match=r"not answered for 1\.5 s|timeout expired|given up"):
            staged.epoch(2, Row(2, "b"))
        proxy.swallows = False
        staged.epoch(2, Row(2, "b"))
        staged.publisher.close()
    assert postgres.query(f"SELECT id FROM {table} ORDER BY id") == [(1,), (2,)]


def test_an_epoch_without_output_says_nothing_to_the_server(postgres: Postgres, tmp_path: Path, books: str) -> None:
    table = postgres.create_table("id bigint, name text")
    told: list[int] = []
    with SilentProxy(postgres.port) as proxy:
        for records in (1, 30):
            env = local_environment(Configuration().set_integer("execution.epoch.max-records", 1))
            env._configuration.set_string("execution.runtime-mode", "STREAMING")
            rows = env.from_collection([Row(number, "a") for number in range(records)], NAMED).filter(lambda row: False)
            sink = JdbcSink.insert(table, NAMED, through(proxy, postgres), bookkeeping_table=books)
            rows.sink_to(sink).uid(f"out-{records}")
            before = proxy.forwarded
            env.execute()
            told.append(proxy.forwarded - before)
    # The table is looked at when the job starts; thirty epochs say no more than one.
    assert told[0] > 0
    assert told[1] <= told[0] + 100
