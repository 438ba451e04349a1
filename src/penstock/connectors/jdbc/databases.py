"""Which database a URL names."""

from __future__ import annotations

from penstock.connectors.jdbc.database import Database
from penstock.connectors.jdbc.mysql import MySql
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.connectors.jdbc.postgres import Postgres
from penstock.connectors.jdbc.sqlite import Sqlite

_KINDS: dict[str, type[Database]] = {"postgresql": Postgres, "mysql": MySql, "sqlite": Sqlite}


def database_of(options: JdbcConnectionOptions) -> Database:
    """The database that the options name; nothing is connected."""
    return _KINDS[options.address.kind](options)
