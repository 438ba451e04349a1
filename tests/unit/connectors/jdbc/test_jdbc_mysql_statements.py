"""What is sent to MySQL: the statements, and which errors are tried again."""

from __future__ import annotations

import pymysql
import pytest

from penstock.common import Types
from penstock.common.errors import ConfigurationError
from penstock.connectors.jdbc import JdbcConnectionOptions
from penstock.connectors.jdbc.database import TableTarget
from penstock.connectors.jdbc.databases import database_of

TYPE = Types.ROW_NAMED(["id", "na`me"], [Types.LONG(), Types.STRING()])


def database(url: str = "jdbc:mysql://h/d"):
    return database_of(JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build())


def test_statements() -> None:
    target = TableTarget("shop.t", TYPE, ("id",))
    insert = "INSERT INTO `shop`.`t` (`id`, `na``me`) VALUES (?, ?)"
    assert database().insert_sql(target) == insert
    assert database().upsert_sql(target) == f"{insert} ON DUPLICATE KEY UPDATE `na``me` = VALUES(`na``me`)"


@pytest.mark.parametrize(
    ("error", "lost", "conflict"),
    [
        (pymysql.OperationalError(2013, "Lost connection"), True, False),
        (pymysql.OperationalError(2003, "Can't connect"), True, False),
        (pymysql.OperationalError(1213, "Deadlock found"), False, True),
        (pymysql.OperationalError(1045, "Access denied"), False, False),
        (pymysql.ProgrammingError(1146, "no such table"), False, False),
        (ValueError("not the database's"), False, False),
    ],
)
def test_which_errors_may_pass(error: Exception, lost: bool, conflict: bool) -> None:
    assert (database().is_lost(error), database().is_conflict(error)) == (lost, conflict)


def test_unknown_properties_of_the_url_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"\['useSSL'\] of the JDBC URL are not known"):
        database("jdbc:mysql://h/d?useSSL=true").connect()
