"""Reads rows of a table in a task."""
# ruff: noqa: S608 (names are quoted and values are parameters)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import SourceError
from penstock.common.typeinfo import RowTypeInfo, Types
from penstock.connectors.jdbc.database import Database, TableColumn
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.connectors.jdbc.placeholders import translated
from penstock.connectors.jdbc.session import Session
from penstock.connectors.source import EpochBudget, SplitRead, SplitReader

_FETCH_ROWS = 10_000


@dataclass(frozen=True)
class TableQuery:
    """What a source selects."""

    connection: JdbcConnectionOptions
    table: str
    columns: tuple[TableColumn, ...]
    ordered_by: TableColumn | None = None
    """The column that cuts the table into slices, or that rises."""

    @property
    def type_info(self) -> RowTypeInfo:
        """The type of the rows."""
        return Types.ROW_NAMED([each.name for each in self.columns], [each.type_info for each in self.columns])

    def session(self, database: Database) -> Session:
        """A connection for this query."""
        return Session(database, 3, lambda message: SourceError(f"the table {self.table} cannot be read: {message}"))


@dataclass(frozen=True)
class Bounds:
    """Which rows, by the values of the ordering column; None: no bound."""

    low: Any = None
    includes_low: bool = True
    high: Any = None
    includes_high: bool = False
    with_nulls: bool = False

    def to_json(self) -> list[Any]:
        """For a manifest."""
        return [self.low, self.includes_low, self.high, self.includes_high, self.with_nulls]

    def condition(self, database: Database, column: TableColumn | None) -> tuple[str, list[Any]]:
        """The condition, with `?` for parameters, and those."""
        if column is None or (self.low is None and self.high is None):
            return "", []
        name = database.quoted(column.name)
        parts: list[str] = []
        values: list[Any] = []
        for sign, includes, bound in ((">", self.includes_low, self.low), ("<", self.includes_high, self.high)):
            if bound is not None:
                parts.append(f"{name} {sign}{'=' if includes else ''} ?")
                values.append(database.position_value(column.type_info, bound))
        condition = " AND ".join(parts)
        return (f" WHERE ({condition} OR {name} IS NULL)" if self.with_nulls else f" WHERE {condition}"), values


class TableReader(SplitReader):
    """Streams rows; the connection is kept between epochs."""

    def __init__(self, query: TableQuery, *, in_order: bool) -> None:
        self._query = query
        self._in_order = in_order
        self._database = database_of(query.connection)
        self._session = query.session(self._database)
        self._codec = codec_for(query.type_info)
        self._converters = [column.convert for column in query.columns]

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        """The rows between two values of the ordering column."""
        sql, parameters = self._select(Bounds(*read.descriptor["bounds"]))
        connection = self._session.connection()
        try:
            with closing(self._database.stream_cursor(connection)) as cursor:
                cursor.execute(sql, parameters)
                while rows := cursor.fetchmany(_FETCH_ROWS):
                    yield Batch(self._codec, columns=self._codec.to_columns(self._converted(rows)))
        except Exception as error:
            self._session.close()
            if self._database.is_error(error):
                raise self._session.failure(error) from None
            raise
        with suppress(Exception):
            # Ends the transaction that reading has begun.
            connection.rollback()
        self.position = read.end
        self.finished = read.finishes

    def close(self) -> None:
        """Lets go of the connection."""
        self._session.close()

    def _select(self, bounds: Bounds) -> tuple[str, list[Any]]:
        database, query = self._database, self._query
        condition, parameters = bounds.condition(database, query.ordered_by)
        selected = ", ".join(column.selected for column in query.columns)
        sql = f"SELECT {selected} FROM {database.quoted_table(query.table)}{condition}"
        if self._in_order and query.ordered_by is not None:
            sql += f" ORDER BY {database.quoted(query.ordered_by.name)}"
        return translated(sql, database.placeholder).sql, parameters

    def _converted(self, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        if not any(self._converters):
            return [tuple(row) for row in rows]
        fields = [
            values if convert is None else [None if value is None else convert(value) for value in values]
            for convert, values in zip(self._converters, zip(*rows, strict=True), strict=True)
        ]
        return list(zip(*fields, strict=True))
