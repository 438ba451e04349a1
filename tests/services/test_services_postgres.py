"""The PostgreSQL that tests run against is a real one: it keeps what it committed."""

from __future__ import annotations

import pytest
from psycopg.pq import ExecStatus

from services.postgres import Postgres


def test_rows_come_back(postgres: Postgres) -> None:
    table = postgres.create_table("id int PRIMARY KEY, name text")
    postgres.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, NULL)")
    assert postgres.query(f"SELECT * FROM {table} ORDER BY id") == [(1, "a"), (2, None)]


@pytest.mark.faults
def test_committed_rows_survive_a_kill_of_the_server(postgres: Postgres) -> None:
    table = postgres.create_table("id int")
    postgres.execute(f"INSERT INTO {table} VALUES (1)")
    postgres.kill()
    assert not postgres.is_running
    postgres.start()
    postgres.execute(f"INSERT INTO {table} VALUES (2)")
    assert postgres.query(f"SELECT * FROM {table} ORDER BY id") == [(1,), (2,)]


@pytest.mark.faults
def test_a_kill_of_the_server_ends_those_that_serve_its_clients(postgres: Postgres) -> None:
    running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT sum%' AND state = 'active'"
    with postgres.connection() as client:
        client.pgconn.send_query(b"SELECT sum(n) FROM generate_series(1, 10000000) AS n")
        assert any(postgres.query(running) == [(1,)] for _ in range(1_000))
        postgres.kill()
        served = client.pgconn.get_result()
        assert served is not None
        assert served.status == ExecStatus.FATAL_ERROR
    postgres.start()
