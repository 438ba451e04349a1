"""The JDBC sink without a server: SQLite."""

from __future__ import annotations

import datetime
import math
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Instant, Row, Types
from penstock.common.errors import JobExecutionException, SinkError
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from penstock.connectors.sink import DeliveryGuarantee
from penstock.testing import check_sink, local_environment

TYPE = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def connection(path: Path) -> JdbcConnectionOptions:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{path}").build()


class File:
    """A database file."""

    def __init__(self, path: Path, definition: str) -> None:
        self.path = path
        self.options = connection(path)
        self.query(definition)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        database = sqlite3.connect(self.path)
        try:
            rows = database.execute(sql).fetchall()
            database.commit()
            return rows
        finally:
            database.close()


def run_into(sink: JdbcSink, rows: list[Row], type_info: Any = TYPE, *, parallelism: int = 1) -> None:
    env = local_environment(parallelism=parallelism)
    env.from_collection(rows, type_info).sink_to(sink)
    env.execute()


def test_a_statement_is_executed_for_every_record(tmp_path: Path) -> None:
    file = File(tmp_path / "db", "CREATE TABLE t (id, name)")
    batches = JdbcExecutionOptions.builder().with_batch_size(2).build()
    rows = [Row(number, f"n{number}") for number in range(5)]
    run_into(JdbcSink.sink("INSERT INTO t (name, id) VALUES (?2, ?1)", TYPE, file.options, batches), rows)
    assert file.query("SELECT * FROM t") == [(number, f"n{number}") for number in range(5)]


def test_pyflinks_sink_is_added_like_a_function(tmp_path: Path) -> None:
    file = File(tmp_path / "db", "CREATE TABLE t (id, name)")
    env = local_environment()
    env.from_collection([(1, "a")], TYPE).add_sink(JdbcSink.sink("INSERT INTO t VALUES (?, ?)", TYPE, file.options))
    env.execute()
    assert file.query("SELECT * FROM t") == [(1, "a")]


def test_values_in_the_forms_of_sqlite(tmp_path: Path) -> None:
    file = File(tmp_path / "db", "CREATE TABLE t (a, b, c, d, e, f)")
    type_info = Types.ROW(
        [
            Types.BIG_DEC(),
            Types.SQL_TIMESTAMP(),
            Types.INSTANT(),
            Types.LIST(Types.INT()),
            Types.BIG_INT(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
        ]
    )
    row = Row(Decimal("1.10"), datetime.datetime(2024, 1, 2, 3, 4), Instant(0, 0), [1, 2], 1 << 70, b"\x00")
    run_into(
        JdbcSink.exactly_once("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", type_info, file.options), [row], type_info
    )
    assert file.query("SELECT * FROM t") == [
        ("1.10", "2024-01-02 03:04:00", "1970-01-01T00:00:00Z", "[1,2]", str(1 << 70), b"\x00")
    ]


def test_not_a_number_is_refused_with_its_record(tmp_path: Path) -> None:
    file = File(tmp_path / "db", "CREATE TABLE t (x)")
    type_info = Types.ROW_NAMED(["x"], [Types.DOUBLE()])
    with pytest.raises(JobExecutionException, match=r"(?s)SQLite has no NaN.*record: .*nan"):
        run_into(JdbcSink.insert("t", type_info, file.options), [Row(1.0), Row(math.nan)], type_info)


@pytest.mark.parametrize(
    ("given", "row"),
    [
        (Types.ROW_NAMED(["b", "a"], [Types.LONG(), Types.LONG()]), Row(b=2, a=1)),
        (Types.ROW_NAMED(["b", "a"], [Types.INT(), Types.INT()]), Row(b=2, a=1)),
        (Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.LONG()]), Row(x=1, y=2)),
        (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()]), Row(x=1, y=2)),
        (Types.TUPLE([Types.INT(), Types.LONG()]), (1, 2)),
        (None, Row(b=2, a=1)),
        (None, (1, 2)),
    ],
)
def test_fields_are_found_by_name_or_by_place(tmp_path: Path, given: Any, row: Any) -> None:
    file = File(tmp_path / "db", "CREATE TABLE t (a INTEGER, b INTEGER)")
    type_info = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.LONG()])
    env = local_environment()
    env.from_collection([row], given).map(lambda each: each, given).sink_to(
        JdbcSink.insert("t", type_info, file.options)
    )
    env.execute()
    assert file.query("SELECT a, b FROM t") == [(1, 2)]


def test_an_upsert_replaces_rows(tmp_path: Path) -> None:
    file = File(tmp_path / "db", "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    rows = [Row(1, "a"), Row(2, "b"), Row(1, "c")]
    run_into(JdbcSink.upsert("t", "id", TYPE, file.options), rows)
    run_into(JdbcSink.upsert("t", ["id"], TYPE, file.options), [Row(2, "d")])
    assert file.query("SELECT * FROM t ORDER BY id") == [(1, "c"), (2, "d")]


def test_a_job_without_output_makes_no_call(tmp_path: Path) -> None:
    nowhere = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:postgresql://127.0.0.1:1/none").build()
    )
    env = local_environment()
    env.from_collection([Row(1, "a")], TYPE).filter(lambda row: False).sink_to(
        JdbcSink.sink("INSERT INTO t VALUES (?, ?)", TYPE, nowhere)
    )
    env.execute()


def test_a_database_without_the_table_is_refused_at_the_start(tmp_path: Path) -> None:
    file = File(tmp_path / "db", "CREATE TABLE other (id)")
    with pytest.raises((SinkError, JobExecutionException), match=r"the table t in sqlite:.* does not exist"):
        run_into(JdbcSink.insert("t", TYPE, file.options), [Row(1, "a")])


def new_target(kind: str) -> Any:
    def make(directory: Path) -> Any:
        file = File(directory / "db", "CREATE TABLE t (id INTEGER, name TEXT)")
        if kind == "insert":
            sink = JdbcSink.insert("t", TYPE, file.options)
        else:
            sink = JdbcSink.sink("INSERT INTO t VALUES (?, ?)", TYPE, file.options)
        return sink, lambda: [Row(id=key, name=name) for key, name in file.query("SELECT * FROM t")]

    return make


RECORDS = [Row(id=number, name=f"n{number}") for number in range(12)]


def test_exactly_once_holds_at_every_line() -> None:
    report = check_sink(new_target("insert"), RECORDS, TYPE)
    assert report.may_promise is DeliveryGuarantee.EXACTLY_ONCE
    assert any("bookkeeping.py" in result.trial for result in report.results)


def test_at_least_once_is_all_that_a_statement_can_promise() -> None:
    report = check_sink(new_target("sink"), RECORDS, TYPE, inside=False)
    assert report.may_promise is DeliveryGuarantee.AT_LEAST_ONCE
    assert "every task of an epoch is done again: 4 too many" in str(report)
