"""The JDBC source against a real PostgreSQL."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Instant, Row, Types
from penstock.common.errors import JobExecutionException, SourceError
from penstock.connectors.jdbc import JdbcSource, JdbcSourceBuilder
from penstock.connectors.source import EnumeratorContext, EpochBudget
from penstock.testing import local_environment
from services.postgres import Postgres

BUDGET = EpochBudget(1000, 1 << 30, 1)


def source_of(postgres: Postgres, table: str) -> JdbcSourceBuilder:
    return JdbcSource.builder().set_connection_options(postgres.options()).set_table(table)


def test_columns_have_the_types_of_the_table(postgres: Postgres) -> None:
    table = postgres.create_table(
        "a smallint, b int, c bigint, d real, e double precision, f numeric(40, 3), g boolean, h varchar(9), i bytea,"
        " j date, k time, l timestamp, m timestamptz, n int[], o jsonb, p uuid, q interval"
    )
    postgres.execute(
        f"INSERT INTO {table} VALUES (1, 2, 3, 'NaN', 0.5, 12345678901234567890.125, true, 'ü', '\\x00ff',"
        " '2024-02-29', '23:59:59.5', '2024-02-29 01:02:03', '2024-02-29 01:02:03.000004+01', '{1,NULL}', '{\"x\": 1}',"
        " '00000000-0000-0000-0000-000000000001', '1 day')"
    )
    postgres.execute(f"INSERT INTO {table} (a) VALUES (2)")
    source = source_of(postgres, table).build()
    first, second = sorted(local_environment().from_source(source).execute_and_collect(), key=lambda row: row.a)
    assert math.isnan(first.d)
    assert list(second) == [2, *[None] * 16]
    assert list(first)[:3] + list(first)[4:] == [
        1,
        2,
        3,
        0.5,
        Decimal("12345678901234567890.125"),
        True,
        "ü",
        b"\x00\xff",
        datetime.date(2024, 2, 29),
        datetime.time(23, 59, 59, 500000),
        datetime.datetime(2024, 2, 29, 1, 2, 3),
        Instant(1709164923, 4000),
        [1, None],
        '{"x": 1}',
        "00000000-0000-0000-0000-000000000001",
        "1 day",
    ]


def test_slices_by_time_hold_every_row_once(postgres: Postgres) -> None:
    table = postgres.create_table("at timestamptz, day date")
    postgres.execute(
        f"INSERT INTO {table} SELECT to_timestamp(n * 3600), '2024-01-01'::date + n FROM generate_series(0, 99) n"
    )
    for column in ("at", "day"):
        source = source_of(postgres, table).set_slice_column(column).set_slices(7).build()
        reads = source.create_enumerator(EnumeratorContext({}, 1, False)).poll(0, BUDGET)
        reader = source.create_reader()
        days = [[row.day for batch in reader.read(read, BUDGET) for row in batch.values] for read in reads]
        reader.close()
        assert all(14 <= len(of_slice) <= 16 for of_slice in days)
        assert sorted(day for of_slice in days for day in of_slice) == sorted({day for each in days for day in each})
        assert sum(map(len, days)) == 100


@pytest.fixture
def follow(postgres: Postgres) -> Any:
    opened: list[Any] = []

    def start(builder: JdbcSourceBuilder, state: dict[str, Any]) -> Any:
        source = builder.build()
        enumerator, reader = source.create_enumerator(EnumeratorContext(state, 1, False)), source.create_reader()
        opened.extend((enumerator, reader))

        def epoch(now: int) -> list[Any]:
            return [
                list(row)
                for read in enumerator.poll(now, BUDGET)
                for b in reader.read(read, BUDGET)
                for row in b.values
            ]

        return epoch

    yield start
    for each in opened:
        each.close()


def test_rows_wait_for_transactions_that_may_have_come_before_them(postgres: Postgres, follow: Any) -> None:
    table = postgres.create_table("id bigserial PRIMARY KEY, who text")
    epoch = follow(source_of(postgres, table).set_rising_column("id").set_poll_interval(1), {})
    with postgres.connection() as slow, slow.transaction():
        slow.execute(f"INSERT INTO {table} (who) VALUES ('slow')")
        postgres.execute(f"INSERT INTO {table} (who) VALUES ('fast')")
        assert epoch(10) == [], "row 2 is there, but row 1 may still come"
    assert epoch(20) == [[1, "slow"], [2, "fast"]]
    assert epoch(30) == []


def test_rows_younger_than_the_lag_are_left_for_later(postgres: Postgres, follow: Any) -> None:
    table = postgres.create_table("at timestamptz DEFAULT now(), who text")
    postgres.execute(f"INSERT INTO {table} VALUES (now() - interval '1 hour', 'old'), (now(), 'new')")
    epoch = follow(source_of(postgres, table).set_columns("who").set_rising_column("at").set_lag("1 min"), {})
    assert epoch(10) == [["old"]]
    assert epoch(2000) == []


@pytest.mark.parametrize("column", ["n", "at", "local", "amount", "name"])
def test_positions_of_every_type_survive_a_restart(postgres: Postgres, follow: Any, column: str) -> None:
    table = postgres.create_table("n int, at timestamptz, local timestamp, amount numeric, name text")
    insert = f"INSERT INTO {table} SELECT n, to_timestamp(n), to_timestamp(n), n / 10.0, 'n' || n FROM generate_series"
    postgres.execute(f"{insert}(1, 3) n")
    builder = source_of(postgres, table).set_columns("n").set_rising_column(column)
    state: dict[str, Any] = {}
    assert follow(builder, state)(0) == [[1], [2], [3]]
    postgres.execute(f"{insert}(4, 5) n")
    assert follow(builder, state)(0) == [[4], [5]]


@pytest.mark.parametrize(
    ("column", "start"),
    [
        ("at", Instant(2, 0)),
        ("at", datetime.datetime(1970, 1, 1, 0, 0, 2, tzinfo=datetime.UTC)),
        ("amount", Decimal("0.2")),
    ],
)
def test_a_table_is_followed_from_a_value_of_its_type(postgres: Postgres, follow: Any, column: str, start: Any) -> None:
    table = postgres.create_table("n int, at timestamptz, amount numeric")
    postgres.execute(f"INSERT INTO {table} SELECT n, to_timestamp(n), n / 10.0 FROM generate_series(1, 3) n")
    builder = source_of(postgres, table).set_columns("n").set_rising_column(column).set_start(start)
    assert follow(builder, {})(0) == [[3]]


def test_what_cannot_be_read_says_why(postgres: Postgres) -> None:
    with pytest.raises(SourceError, match=r"the table nowhere in postgresql://.* does not exist"):
        source_of(postgres, "nowhere").build()
    table = postgres.create_table("x numeric")
    source = source_of(postgres, table).build()
    postgres.execute(f"INSERT INTO {table} VALUES ('NaN')")
    with pytest.raises(JobExecutionException, match=r"field 'x': Decimal\('NaN'\) .* not a finite number"):
        list(local_environment().from_source(source).execute_and_collect())
    postgres.execute(f"DROP TABLE {table}")
    with pytest.raises(JobExecutionException, match=f"the table {table} cannot be read: relation .* does not exist"):
        list(local_environment().from_source(source).execute_and_collect())


def test_a_row_type_of_the_program_is_that_of_the_table(postgres: Postgres) -> None:
    table = postgres.create_table("id bigint PRIMARY KEY, name text")
    source = source_of(postgres, table).set_columns("name", "id").build()
    assert source.produced_type == Types.ROW_NAMED(["name", "id"], [Types.STRING(), Types.LONG()])
    postgres.execute(f"INSERT INTO {table} VALUES (1, 'a')")
    assert list(local_environment().from_source(source).execute_and_collect()) == [Row(name="a", id=1)]


def test_times_that_python_does_not_have_are_broken_records(postgres: Postgres) -> None:
    table = postgres.create_table("id int PRIMARY KEY, at timestamptz, day date")
    postgres.execute(
        f"INSERT INTO {table} VALUES (1, '2024-02-29 00:00+00', '2024-02-29'), (2, 'infinity', '2024-02-29'),"
        " (3, '2024-02-29 00:00+00', '0044-03-15 BC')"
    )
    with pytest.raises(JobExecutionException, match=r"id = 2: the record cannot be read.*\n.*infinity"):
        list(local_environment().from_source(source_of(postgres, table).build()).execute_and_collect())
    tolerant = source_of(postgres, table).set_on_error("skip").build()
    assert [row.id for row in local_environment().from_source(tolerant).execute_and_collect()] == [1]
