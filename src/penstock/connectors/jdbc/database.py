"""What differs from database to database."""

from __future__ import annotations

import datetime
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, TypeMismatchError
from penstock.common.kernels import pc
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TypeInformation,
    Types,
)
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.connectors.jdbc.placeholders import translated
from penstock.connectors.json.encoding import jsonable

Connection = Any
"""A connection of a Python driver (DB-API 2)."""
Cursor = Any
Converter = Callable[[Any], Any]


class TryAgainError(Exception):
    """Somebody else was in the way: the transaction is to be tried again."""


def refuse_numbers(
    names: Sequence[str], columns: Sequence[pa.Array], is_refused: Callable[[pa.Array], pa.Array], reason: str
) -> None:
    """Raises `TypeMismatchError` for the first floating number that a database cannot hold."""
    for name, column in zip(names, columns, strict=True):
        if pa.types.is_floating(column.type):
            index = pc.index(is_refused(column), True).as_py()
            if index >= 0:
                raise TypeMismatchError(f"field {name!r}: {reason}; give None instead", index=index)


class TableColumn(NamedTuple):
    """A column of a table as a source reads it."""

    name: str
    type_info: TypeInformation
    selected: str
    """The expression that selects it."""
    convert: Converter | None = None
    """What makes the value of the type from what the driver gives."""


class RowStatement(ABC):
    """Puts rows into the database, inside a transaction of the caller."""

    @abstractmethod
    def apply(self, cursor: Cursor, columns: Sequence[pa.Array]) -> None:
        """Writes rows, given as the columns of their type."""


class TableTarget(NamedTuple):
    """A table to write to."""

    table: str
    type_info: CompositeTypeInfo
    keys: tuple[str, ...]
    """The columns of a unique index, whose rows are replaced; none: rows are added."""

    @property
    def columns(self) -> list[str]:
        """The columns that are written."""
        return self.type_info.get_field_names()


class Database(ABC):
    """One kind of database at one address. Instances are made where they are needed and hold no connection."""

    placeholder = "?"
    """How the driver writes a parameter."""

    def __init__(self, options: JdbcConnectionOptions) -> None:
        self.options = options
        self.address = options.address

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection, with time-outs set. Raises what the driver raises."""

    def begin(self, connection: Connection) -> None:
        """Begins a transaction, where the driver does not do so by itself."""
        return

    @abstractmethod
    def is_lost(self, error: BaseException) -> bool:
        """Whether the connection is gone, or could not be made now but may be later."""

    @abstractmethod
    def is_conflict(self, error: BaseException) -> bool:
        """Whether the transaction failed because of others at the same time, and may work when tried again."""

    def advice(self, error: BaseException) -> str:
        """What a person can do about an error; empty where its message says enough."""
        return ""

    @abstractmethod
    def is_error(self, error: BaseException) -> bool:
        """Whether an exception comes from the database or its driver."""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """A name as SQL takes it literally."""

    def quoted_table(self, table: str) -> str:
        """A table's name, with its schema before a dot."""
        return ".".join(self.quoted(part) for part in table.split("."))

    @abstractmethod
    def converter(self, type_info: TypeInformation) -> Converter | None:
        """What makes a parameter of a value of this type; None where the driver takes it as it is."""

    def refuse_values(self, names: Sequence[str], columns: Sequence[pa.Array]) -> None:
        """Raises `TypeMismatchError` for values that the database cannot hold, with the index of the first."""
        return

    @abstractmethod
    def upsert_sql(self, target: TableTarget) -> str:
        """A statement, with `?` for every column, that replaces the row of the same key."""

    def table_statement(self, target: TableTarget, batch_size: int) -> RowStatement:
        """What writes to a table in the fastest way that the database has."""
        sql = self.upsert_sql(target) if target.keys else self.insert_sql(target)
        return SqlStatement(self, sql, target.type_info, batch_size)

    def insert_sql(self, target: TableTarget) -> str:
        """A statement, with `?` for every column, that adds a row."""
        names = ", ".join(map(self.quoted, target.columns))
        marks = ", ".join("?" for _ in target.columns)
        # Names are quoted, values are parameters.
        return f"INSERT INTO {self.quoted_table(target.table)} ({names}) VALUES ({marks})"  # noqa: S608

    @abstractmethod
    def table_columns(self, cursor: Cursor, table: str) -> list[TableColumn]:
        """The columns of a table, in their order; empty where there is no such table."""

    @abstractmethod
    def unique_keys(self, cursor: Cursor, table: str) -> list[frozenset[str]]:
        """The sets of columns that have a unique index; the primary key first."""

    def estimated_rows(self, cursor: Cursor, table: str) -> int | None:
        """About how many rows a table has, at little cost; None where that is not known."""
        return None

    def stream_cursor(self, connection: Connection, *, is_lenient: bool = False) -> Cursor:
        """A cursor that does not hold the whole result in memory, where there is one.

        A lenient one gives values that Python has no form for as something else, instead of raising an error.
        """
        return connection.cursor()

    def is_unreadable(self, error: BaseException) -> bool:
        """Whether the driver has refused a value that it got, which a lenient cursor would not do."""
        return False

    def position_value(self, type_info: TypeInformation, position: Any) -> Any:
        """A parameter for a value of an ordering column that was kept as JSON."""
        match type_info:
            case DateTypeInfo():
                return datetime.date.fromisoformat(position)
            case TimestampTypeInfo():
                return datetime.datetime.fromisoformat(position)
            case BasicTypeInfo(basic_type=BasicType.INSTANT):
                return datetime.datetime.fromisoformat(position)
            case BasicTypeInfo(basic_type=BasicType.BIG_DEC | BasicType.BIG_INT):
                return Decimal(position)
            case _:
                return position

    def older_than(self, name: str) -> str:
        """A condition, with `?` for seconds, on a column of times; empty where the database has none."""
        return ""

    def settled_mark(self, cursor: Cursor) -> Any:
        """A mark of this moment; None where the database has no such thing."""
        return None

    def is_settled(self, cursor: Cursor, mark: Any) -> bool:
        """Whether all transactions that wrote before the mark have ended."""
        return True


def as_json_text(value: Any) -> str:
    """A value with parts as the text of a JSON column."""
    return json.dumps(jsonable(value), ensure_ascii=False, separators=(",", ":"))


def has_parts(type_info: TypeInformation) -> bool:
    """Whether values of a type are lists, maps or records."""
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes:
        return False
    return isinstance(type_info, CompositeTypeInfo | MapTypeInfo | CollectionTypeInfo)


class RowsOfColumns:
    """Turns the columns of a record type into tuples of parameters."""

    def __init__(self, database: Database, type_info: CompositeTypeInfo) -> None:
        types = type_info.get_field_types()
        for name, field_type in zip(type_info.get_field_names(), types, strict=True):
            if field_type.is_pickled:
                raise ConfigurationError(f"the field {name!r} has no declared type, so no column can take it")
        self._codec = codec_for(Types.TUPLE(types))
        self._converters = [database.converter(each) for each in types]

    def __call__(self, columns: Sequence[pa.Array]) -> list[tuple[Any, ...]]:
        """One tuple per row."""
        rows = self._codec.to_values(columns)
        if not any(self._converters) or not rows:
            return rows
        fields = [
            values if convert is None else [None if value is None else convert(value) for value in values]
            for convert, values in zip(self._converters, zip(*rows, strict=True), strict=True)
        ]
        return list(zip(*fields, strict=True))


class SqlStatement(RowStatement):
    """A statement with `?` for every field, executed for batches of rows."""

    def __init__(self, database: Database, sql: str, type_info: CompositeTypeInfo, batch_size: int) -> None:
        self._sql, count = translated(sql, database.placeholder)
        fields = len(type_info.get_field_names())
        if count != fields:
            raise ConfigurationError(
                f"the statement has {count} parameters (`?`), but the type has {fields} fields: "
                f"{type_info.get_field_names()}"
            )
        self._rows = RowsOfColumns(database, type_info)
        self._batch_size = batch_size

    def apply(self, cursor: Cursor, columns: Sequence[pa.Array]) -> None:
        """Writes rows, batch by batch."""
        for start in range(0, len(columns[0]), self._batch_size):
            cursor.executemany(self._sql, self._rows([column.slice(start, self._batch_size) for column in columns]))
