"""MySQL and MariaDB, through PyMySQL."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError
from penstock.common.kernels import pc
from penstock.common.time import Instant
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.jdbc.database import (
    Connection,
    Converter,
    Cursor,
    Database,
    TableColumn,
    TableTarget,
    as_json_text,
    has_parts,
    refuse_numbers,
)

_EPOCH = datetime.datetime(1970, 1, 1)
_LOST = frozenset({1040, 1053, 1077, 1079, 1080, 2002, 2003, 2006, 2013, 2055})
_CONFLICTS = frozenset({1205, 1213})
_TYPES: dict[str, TypeInformation] = {
    "tinyint": Types.SHORT(),
    "smallint": Types.INT(),
    "mediumint": Types.INT(),
    "int": Types.LONG(),
    "bigint": Types.BIG_INT(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "decimal": Types.BIG_DEC(),
    "date": Types.SQL_DATE(),
    "datetime": Types.SQL_TIMESTAMP(),
    "timestamp": Types.SQL_TIMESTAMP(),
}
_BYTES = frozenset({"binary", "varbinary", "blob", "tinyblob", "mediumblob", "longblob"})


def _pymysql() -> Any:
    try:
        import pymysql
    except ImportError as problem:
        raise EnvironmentNotReadyError(
            "MySQL needs the package pymysql, on the driver and on every worker: pip install 'penstock[mysql]'"
        ) from problem
    return pymysql


def _code(error: BaseException) -> int | None:
    return error.args[0] if error.args and isinstance(error.args[0], int) else None


class MySql(Database):
    """A MySQL or MariaDB server."""

    placeholder = "%s"

    def connect(self) -> Connection:
        if self.address.properties:
            raise ConfigurationError(
                f"the properties {sorted(self.address.properties)} of the JDBC URL are not known for MySQL; time-outs "
                "are set on JdbcConnectionOptionsBuilder"
            )
        login = self.address.login
        timeout = self.options.statement_timeout_seconds
        return _pymysql().connect(
            host=self.address.host,
            port=self.address.port,
            database=self.address.database,
            user=login.user,
            password="" if login.password is None else login.password.reveal(),
            charset="utf8mb4",
            connect_timeout=self.options.connect_timeout_seconds,
            read_timeout=timeout,
            write_timeout=timeout,
            init_command="SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')",
        )

    def is_lost(self, error: BaseException) -> bool:
        mysql = _pymysql()
        return isinstance(error, mysql.InterfaceError) or (
            isinstance(error, mysql.OperationalError) and _code(error) in _LOST
        )

    def is_conflict(self, error: BaseException) -> bool:
        return isinstance(error, _pymysql().MySQLError) and _code(error) in _CONFLICTS

    def is_error(self, error: BaseException) -> bool:
        return isinstance(error, _pymysql().MySQLError)

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def converter(self, type_info: TypeInformation) -> Converter | None:
        if type_info == Types.INSTANT():
            return _moment
        return as_json_text if has_parts(type_info) else None

    def refuse_values(self, names: Sequence[str], columns: Sequence[pa.Array]) -> None:
        refuse_numbers(
            names, columns, lambda column: pc.invert(pc.is_finite(column)), "MySQL has no NaN and no infinities"
        )

    def upsert_sql(self, target: TableTarget) -> str:
        # Which key is meant MySQL does not ask: a row replaces the one with which it shares any unique key.
        names = [self.quoted(name) for name in target.columns if name not in target.keys]
        changed = names or [self.quoted(target.keys[0])]
        return f"{self.insert_sql(target)} ON DUPLICATE KEY UPDATE " + ", ".join(
            f"{name} = VALUES({name})" for name in changed
        )

    def table_columns(self, cursor: Cursor, table: str) -> list[TableColumn]:
        schema, name = self._schema_and_name(table)
        cursor.execute(
            "SELECT column_name, data_type, column_type FROM information_schema.columns"
            " WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s ORDER BY ordinal_position",
            (schema, name),
        )
        return [self._column(*row) for row in cursor.fetchall()]

    def unique_keys(self, cursor: Cursor, table: str) -> list[frozenset[str]]:
        schema, name = self._schema_and_name(table)
        cursor.execute(
            "SELECT index_name, column_name FROM information_schema.statistics"
            " WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s AND non_unique = 0",
            (schema, name),
        )
        found: dict[str, set[str]] = {}
        for index, column in cursor.fetchall():
            found.setdefault(index, set()).add(column)
        return [frozenset(found[index]) for index in sorted(found, key=lambda index: index != "PRIMARY")]

    def estimated_rows(self, cursor: Cursor, table: str) -> int | None:
        schema, name = self._schema_and_name(table)
        cursor.execute(
            "SELECT table_rows FROM information_schema.tables"
            " WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s",
            (schema, name),
        )
        found = cursor.fetchone()
        return None if found is None else found[0]

    def stream_cursor(self, connection: Connection, *, is_lenient: bool = False) -> Cursor:
        return connection.cursor(_pymysql().cursors.SSCursor)

    def _schema_and_name(self, table: str) -> tuple[str | None, str]:
        schema, _, name = table.rpartition(".")
        return schema or None, name

    def _column(self, name: str, data_type: str, column_type: str) -> TableColumn:
        quoted = self.quoted(name)
        if column_type == "tinyint(1)":
            return TableColumn(name, Types.BOOLEAN(), quoted, bool)
        if data_type in _BYTES:
            return TableColumn(name, Types.PRIMITIVE_ARRAY(Types.BYTE()), quoted)
        if data_type == "decimal":
            return TableColumn(name, Types.BIG_DEC(), quoted, Decimal)
        if data_type in _TYPES:
            return TableColumn(name, _TYPES[data_type], quoted)
        return TableColumn(name, Types.STRING(), f"CAST({quoted} AS CHAR) AS {quoted}")


def _moment(value: Instant) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
