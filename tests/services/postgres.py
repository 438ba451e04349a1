"""The PostgreSQL server that tests run against, and what they ask it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import services.downloaded  # noqa: F401  says where the server is
from penstock.cli.dev_servers import PostgresServer
from penstock.cli.dev_servers.postgres import DATABASE, PASSWORD, USER
from penstock.connectors.jdbc import JdbcConnectionOptions

# The tests kill processes, never the machine: what the system holds for the disk is not lost.
_FASTER = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "64MB"}


class Postgres(PostgresServer):
    """A server and its data. `kill` and `restart` keep the address and what was written."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, settings=_FASTER, fetch=False)

    def options(self, *, password: str = PASSWORD, **timeouts: int) -> JdbcConnectionOptions:
        """How a program connects."""
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        builder = builder.with_url(self.address).with_user_name(USER).with_password(password)
        for name, seconds in timeouts.items():
            builder = getattr(builder, f"with_{name}_seconds")(seconds)
        return builder.build()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection of the test's own, each statement of which is a transaction."""
        with psycopg.connect(
            host="127.0.0.1", port=self.port, dbname=DATABASE, user=USER, password=PASSWORD, autocommit=True
        ) as connection:
            yield connection

    def execute(self, sql: str, *parameters: Any) -> None:
        """Executes a statement."""
        with self.connection() as connection:
            connection.execute(sql, parameters or None)

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.connection() as connection:
            return connection.execute(sql, parameters or None).fetchall()

    def create_table(self, columns: str) -> str:
        """Makes a table that no other test uses, and returns its name."""
        table = f"t_{uuid.uuid4().hex[:12]}"
        self.execute(f"CREATE TABLE {table} ({columns})")
        return table
