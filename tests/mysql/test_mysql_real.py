"""The JDBC sink and source against a real MySQL or MariaDB."""

from __future__ import annotations

import datetime
import os
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Instant, Row, Types
from penstock.common.errors import JobExecutionException, SinkError
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcSink, JdbcSource
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.sink import DeliveryGuarantee
from penstock.testing import check_sink, local_environment

OPTIONS = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(os.environ["PENSTOCK_MYSQL_URL"]).build()
NAMED = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def query(sql: str) -> list[tuple[Any, ...]]:
    connection = database_of(OPTIONS).connect()
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            rows = list(cursor.fetchall())
        connection.commit()
        return rows
    finally:
        connection.close()


@pytest.fixture
def create_table() -> Iterator[Callable[[str], str]]:
    tables: list[str] = []

    def create(columns: str) -> str:
        tables.append(f"t_{uuid.uuid4().hex[:12]}")
        query(f"CREATE TABLE {tables[-1]} ({columns})")
        return tables[-1]

    yield create
    for table in tables:
        query(f"DROP TABLE IF EXISTS {table}")
        query(f"DROP TABLE IF EXISTS books_{table}")


def run_into(sink: JdbcSink, rows: list[Row], type_info: Any = NAMED) -> None:
    env = local_environment()
    env.from_collection(rows, type_info).sink_to(sink)
    env.execute()


def test_types_arrive_and_are_read_as_they_were(create_table: Callable[[str], str]) -> None:
    table = create_table(
        "id bigint PRIMARY KEY, flag boolean, x double, amount decimal(30, 9), name text, raw blob, day date,"
        " at datetime(6), moment datetime(6), doc json"
    )
    type_info = Types.ROW_NAMED(
        ["id", "flag", "x", "amount", "name", "raw", "day", "at", "moment", "doc"],
        [
            Types.LONG(),
            Types.BOOLEAN(),
            Types.DOUBLE(),
            Types.BIG_DEC(),
            Types.STRING(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.SQL_DATE(),
            Types.SQL_TIMESTAMP(),
            Types.INSTANT(),
            Types.LIST(Types.INT()),
        ],
    )
    day, at = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3, 4)
    full = Row(
        1, True, 0.5, Decimal("12345678901234567890.125000000"), 'a "%s" ü', b"\x00\xff", day, at, Instant(0, 0), [1, 2]
    )
    run_into(
        JdbcSink.insert(table, type_info, OPTIONS, bookkeeping_table=f"books_{table}"),
        [full, Row(2, *[None] * 9)],
        type_info,
    )
    source = JdbcSource.builder().set_connection_options(OPTIONS).set_table(table).set_slices(2).build()
    read = sorted(local_environment().from_source(source).execute_and_collect(), key=lambda row: row.id)
    assert list(read[0]) == [*list(full)[:8], datetime.datetime(1970, 1, 1), "[1,2]"]
    assert list(read[1]) == [2, *[None] * 9]


def test_an_upsert_replaces_rows_and_a_table_is_followed(create_table: Callable[[str], str]) -> None:
    table = create_table("id bigint PRIMARY KEY, name varchar(20), other int DEFAULT 7")
    query(f"INSERT INTO {table} VALUES (1, 'before', 5)")
    sink = JdbcSink.upsert(table, ["id"], NAMED, OPTIONS, bookkeeping_table=f"books_{table}")
    run_into(sink, [Row(1, "first"), Row(2, "a"), Row(1, "last")])
    assert query(f"SELECT * FROM {table} ORDER BY id") == [(1, "last", 5), (2, "a", 7)]
    builder = JdbcSource.builder().set_connection_options(OPTIONS).set_table(table).set_rising_column("id").set_start(1)
    rows = list(local_environment().from_source(builder.set_bounded().build()).execute_and_collect())
    assert [row.name for row in rows] == ["a"]


def test_exactly_once_holds(create_table: Callable[[str], str]) -> None:
    def new_target(directory: Path) -> Any:
        table = create_table("id bigint, name text")
        sink = JdbcSink.insert(table, NAMED, OPTIONS, bookkeeping_table=f"books_{table}")
        return sink, lambda: [Row(id=key, name=name) for key, name in query(f"SELECT * FROM {table}")]

    records = [Row(id=number, name=f"n{number}") for number in range(12)]
    report = check_sink(new_target, records, NAMED, inside=False)
    assert report.may_promise is DeliveryGuarantee.EXACTLY_ONCE


def test_what_cannot_be_written_says_why(create_table: Callable[[str], str]) -> None:
    with pytest.raises((SinkError, JobExecutionException), match=r"the table nowhere in mysql://.* does not exist"):
        run_into(JdbcSink.insert("nowhere", NAMED, OPTIONS), [Row(1, "a")])
    table = create_table("id bigint, name text")
    with pytest.raises((SinkError, JobExecutionException), match="no primary key and no unique index"):
        run_into(JdbcSink.upsert(table, ["id"], NAMED, OPTIONS), [Row(1, "a")])
