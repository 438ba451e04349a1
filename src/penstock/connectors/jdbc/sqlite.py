"""SQLite, which is part of Python: for trying things out, and for tests that need no server."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.common.errors import ConfigurationError
from penstock.common.kernels import pc
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
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
from penstock.connectors.json.encoding import jsonable

_BUSY = ("locked", "busy")


class Sqlite(Database):
    """A file that the driver and all workers see."""

    def connect(self) -> Connection:
        if self.address.properties or self.address.login.user is not None:
            raise ConfigurationError("a SQLite database has no user, no password and no properties")
        # Transactions are begun by hand; publishing runs in a thread that is not the one that made the connection.
        return sqlite3.connect(
            self.address.database,
            timeout=self.options.statement_timeout_seconds,
            isolation_level=None,
            check_same_thread=False,
        )

    def begin(self, connection: Connection) -> None:
        # At once the one who writes: two who begin by reading cannot both go on to write.
        connection.execute("BEGIN IMMEDIATE")

    def is_lost(self, error: BaseException) -> bool:
        return False

    def is_conflict(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and any(word in str(error) for word in _BUSY)

    def is_error(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.Error)

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def converter(self, type_info: TypeInformation) -> Converter | None:
        if has_parts(type_info):
            return as_json_text
        match type_info:
            case DateTypeInfo() | TimeTypeInfo() | BasicTypeInfo(basic_type=BasicType.INSTANT):
                return jsonable
            case TimestampTypeInfo():
                return _timestamp_text
            case BasicTypeInfo(basic_type=BasicType.BIG_DEC):
                return str
            case BasicTypeInfo(basic_type=BasicType.BIG_INT):
                return _integer
            case _:
                return None

    def refuse_values(self, names: Sequence[str], columns: Sequence[pa.Array]) -> None:
        refuse_numbers(names, columns, pc.is_nan, "SQLite has no NaN, it would become NULL")

    def upsert_sql(self, target: TableTarget) -> str:
        keys = ", ".join(map(self.quoted, target.keys))
        others = [self.quoted(name) for name in target.columns if name not in target.keys]
        action = "UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in others) if others else "NOTHING"
        return f"{self.insert_sql(target)} ON CONFLICT ({keys}) DO {action}"

    def position_value(self, type_info: TypeInformation, position: Any) -> Any:
        # Dates and times are texts here.
        return position

    def table_columns(self, cursor: Cursor, table: str) -> list[TableColumn]:
        cursor.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
        return [_column(name, self.quoted(name), declared.upper()) for name, declared in cursor.fetchall()]

    def unique_keys(self, cursor: Cursor, table: str) -> list[frozenset[str]]:
        cursor.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0", (table,))
        keys = [frozenset(name for (name,) in cursor.fetchall())]
        cursor.execute('SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial', (table,))
        for (index,) in cursor.fetchall():
            cursor.execute("SELECT name FROM pragma_index_info(?)", (index,))
            keys.append(frozenset(name for (name,) in cursor.fetchall()))
        return [key for key in keys if key]


def _timestamp_text(value: datetime.datetime) -> str:
    return value.isoformat(" ")


def _integer(value: int) -> int | str:
    return value if -(1 << 63) <= value < 1 << 63 else str(value)


def _column(name: str, quoted: str, declared: str) -> TableColumn:  # noqa: PLR0911  one line per type
    """SQLite's own rules of affinity, and the types that people write beside them."""
    if "BOOL" in declared:
        return TableColumn(name, Types.BOOLEAN(), quoted, bool)
    if "INT" in declared:
        return TableColumn(name, Types.LONG(), quoted)
    if declared.startswith(("TIMESTAMP", "DATETIME")):
        return TableColumn(name, Types.SQL_TIMESTAMP(), quoted, datetime.datetime.fromisoformat)
    if declared.startswith("DATE"):
        return TableColumn(name, Types.SQL_DATE(), quoted, datetime.date.fromisoformat)
    if declared.startswith(("DECIMAL", "NUMERIC")):
        return TableColumn(name, Types.BIG_DEC(), quoted, _decimal)
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return TableColumn(name, Types.DOUBLE(), quoted)
    if "BLOB" in declared:
        return TableColumn(name, Types.PRIMITIVE_ARRAY(Types.BYTE()), quoted)
    return TableColumn(name, Types.STRING(), quoted, str)


def _decimal(value: Any) -> Decimal:
    return Decimal(str(value))
