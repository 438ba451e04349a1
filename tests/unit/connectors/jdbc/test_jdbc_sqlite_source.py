"""The JDBC source without a server: slices, and a table that is followed."""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.errors import ConfigurationError, JobExecutionException, SourceError
from penstock.connectors.broken_records import BROKEN_RECORD_TYPE
from penstock.connectors.jdbc import JdbcConnectionOptions, JdbcSource, JdbcSourceBuilder
from penstock.connectors.source import Boundedness
from penstock.functions import OutputTag
from penstock.testing import local_environment


class File:
    """A database file."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "db"

    def execute(self, *statements: str) -> None:
        database = sqlite3.connect(self._path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()

    def source(self, table: str = "t") -> JdbcSourceBuilder:
        options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{self._path}").build()
        return JdbcSource.builder().set_connection_options(options).set_table(table)

    def numbers(self, count: int, first: int = 1) -> None:
        self.execute(
            "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, name TEXT)",
            f"INSERT INTO t WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n"
            f" WHERE i < {first + count - 1}) SELECT i, 'n' || i FROM n",
        )


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path)


def test_columns_have_the_types_of_the_table(file: File) -> None:
    file.execute(
        "CREATE TABLE t (a INTEGER, b TEXT, c REAL, d BLOB, e BOOLEAN, f DECIMAL(10, 2), g TIMESTAMP, h DATE)",
        "INSERT INTO t VALUES (1, 'x', 1.5, x'00ff', 1, '2.50', '2024-01-02 03:04:05', '2024-01-02')",
        "INSERT INTO t (a) VALUES (2)",
    )
    source = file.source().build()
    assert source.produced_type == Types.ROW_NAMED(
        list("abcdefgh"),
        [
            Types.LONG(),
            Types.STRING(),
            Types.DOUBLE(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.BOOLEAN(),
            Types.BIG_DEC(),
            Types.SQL_TIMESTAMP(),
            Types.SQL_DATE(),
        ],
    )
    rows = list(local_environment().from_source(source).execute_and_collect())
    full = Row(
        a=1,
        b="x",
        c=1.5,
        d=b"\x00\xff",
        e=True,
        f=Decimal("2.5"),
        g=datetime.datetime(2024, 1, 2, 3, 4, 5),
        h=datetime.date(2024, 1, 2),
    )
    assert rows == [full, Row(a=2, b=None, c=None, d=None, e=None, f=None, g=None, h=None)]


@pytest.mark.parametrize("slices", [None, 1, 3, 100])
def test_slices_hold_every_row_once(file: File, run_source: Any, slices: int | None) -> None:
    file.numbers(10, first=-3)
    builder = file.source().set_columns("id")
    source = (builder if slices is None else builder.set_slices(slices)).build()
    assert source.boundedness is Boundedness.BOUNDED
    run = run_source(source, parallelism=4)
    read: list[int] = []
    while not run.enumerator.is_exhausted():
        read += [row.id for row in run.epoch(records=3)]
        run.restart()
    assert sorted(read) == list(range(-3, 7))
    assert len(run.finished_splits) == min(slices or 4, 9)


def test_rows_without_a_value_in_the_slice_column_are_read(file: File, run_source: Any) -> None:
    file.execute("CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (NULL), (1), (5), (NULL), (9)")
    run = run_source(file.source().set_slice_column("x").set_slices(3).build())
    assert sorted(str(row.x) for epoch in run.epochs() for row in epoch) == ["1", "5", "9", "None", "None"]


def test_rows_that_come_in_behind_the_end_are_not_part_of_a_bounded_read(file: File, run_source: Any) -> None:
    file.numbers(4)
    run = run_source(file.source().set_slices(2).build())
    first = run.epoch(records=1)
    file.numbers(5, first=5)
    assert len(first) + sum(map(len, run.epochs())) == 4


@pytest.mark.parametrize("bounded", [False, True])
def test_an_empty_table_ends(file: File, run_source: Any, bounded: bool) -> None:
    file.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    assert list(run_source(file.source().build(), bounded=bounded).epochs()) == [[]]


def test_a_table_is_followed_and_a_restart_goes_on(file: File, run_source: Any) -> None:
    file.numbers(5)
    source = file.source().set_rising_column("id").set_start(1).set_poll_interval("1 s").build()
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    run = run_source(source)
    assert [row.id for row in run.epoch(records=3)] == [2, 3, 4]
    run.restart()
    assert [row.id for row in run.epoch(records=3)] == [5]
    assert run.epoch(now=1_000) == []
    file.numbers(2, first=10)
    assert run.epoch(now=1_500) == [], "the table is looked at once in a second"
    assert [row.id for row in run.epoch(now=2_000)] == [10, 11]
    assert not run.enumerator.is_exhausted()


def test_a_followed_table_ends_in_batch_execution(file: File, run_source: Any) -> None:
    file.numbers(5)
    bounded = run_source(file.source().set_rising_column("id").set_bounded().build())
    assert [[row.id for row in epoch] for epoch in bounded.epochs(records=3)] == [[1, 2, 3], [4, 5]]
    batch = run_source(file.source().set_rising_column("id").build(), bounded=True)
    assert [[row.id for row in epoch] for epoch in batch.epochs()] == [[1, 2, 3, 4, 5]]


def test_what_cannot_be_read_is_refused(file: File) -> None:
    file.execute("CREATE TABLE t (id INTEGER, x REAL, b BLOB)")
    with pytest.raises(SourceError, match=r"the table none in sqlite:.*does not exist"):
        file.source("none").build()
    with pytest.raises(SourceError, match="has no column y; its columns are id, x, b"):
        file.source().set_columns("id", "y").build()
    with pytest.raises(ConfigurationError, match="column x is of the type Double, whose values cannot rise"):
        file.source().set_rising_column("x").build()
    with pytest.raises(ConfigurationError, match=r"column b .* cannot cut a table"):
        file.source().set_slice_column("b").build()
    with pytest.raises(ConfigurationError, match="in slices or followed"):
        file.source().set_rising_column("id").set_slices(2).build()
    with pytest.raises(ConfigurationError, match="call set_rising_column"):
        file.source().set_start(1).build()
    with pytest.raises(ConfigurationError, match="set_lag is for PostgreSQL"):
        file.source().set_rising_column("id").set_lag("1 s").build()
    with pytest.raises(ConfigurationError, match="call set_connection_options"):
        JdbcSource.builder().build()


@pytest.fixture
def untidy(file: File) -> JdbcSourceBuilder:
    """SQLite keeps any value in any column."""
    file.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, amount INTEGER, day DATE)",
        "INSERT INTO t VALUES (1, 10, '2024-01-02'), (2, 'ten', '2024-01-02'), (3, 30, 'today'), (4, 40, NULL)",
    )
    return file.source()


def test_a_row_that_is_not_what_its_columns_say_is_shown(untidy: JdbcSourceBuilder) -> None:
    with pytest.raises(JobExecutionException) as raised:
        list(local_environment().from_source(untidy.build()).execute_and_collect())
    shown = str(raised.value)
    assert "table t in " in shown
    assert "id = 2: the record cannot be read" in shown
    assert 'record: [2, "ten", "2024-01-02"]' in shown


def test_such_rows_can_be_skipped_or_go_to_a_side_output(untidy: JdbcSourceBuilder) -> None:
    rows = local_environment().from_source(untidy.set_on_error("skip").build())
    assert sorted(row.id for row in rows.execute_and_collect()) == [1, 4]
    tag = OutputTag("broken", BROKEN_RECORD_TYPE)
    rows = local_environment().from_source(untidy.set_on_error(tag).build())
    with rows.get_side_output(tag).execute_and_collect() as records:
        broken = {record.position.rpartition(", ")[2]: record for record in records}
    assert sorted(broken) == ["id = 2", "id = 3"]
    assert broken["id = 3"].value == b'[3, 30, "today"]'
    assert "Invalid isoformat string: 'today'" in broken["id = 3"].reason
