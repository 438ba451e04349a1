"""Reads rows of a table in a task."""
# ruff: noqa: S608 (names are quoted and values are parameters)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import SourceError, TypeMismatchError
from penstock.common.typeinfo import RowTypeInfo, Types
from penstock.connectors.broken_records import FAIL, BrokenRecords, OnError
from penstock.connectors.jdbc.database import Database, TableColumn
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.connectors.jdbc.placeholders import translated
from penstock.connectors.jdbc.session import Session
from penstock.connectors.readable_values import readable_values
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

    def __init__(self, query: TableQuery, *, in_order: bool, on_error: OnError = FAIL) -> None:
        self._query = query
        self._in_order = in_order
        self._database = database_of(query.connection)
        self._session = query.session(self._database)
        self._codec = codec_for(query.type_info)
        self._converters = [column.convert for column in query.columns]
        self._broken = self.broken_records = BrokenRecords(on_error)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        """The rows between two values of the ordering column."""
        try:
            yield from self._rows(read, is_lenient=self._broken.is_tolerant)
        except Exception as error:
            self._session.close()
            if not self._database.is_error(error):
                raise
            if self._database.is_unreadable(error) and not self._broken.is_tolerant:
                self._fail_at_broken_row(read)
            raise self._session.failure(error) from None
        self.position = read.end
        self.finished = read.finishes

    def _rows(self, read: SplitRead, *, is_lenient: bool) -> Iterator[Batch]:
        sql, parameters = self._select(Bounds(*read.descriptor["bounds"]))
        connection = self._session.connection()
        before = 0
        with closing(self._database.stream_cursor(connection, is_lenient=is_lenient)) as cursor:
            cursor.execute(sql, parameters)
            while rows := cursor.fetchmany(_FETCH_ROWS):
                yield from readable_values(
                    self._codec,
                    rows,
                    self._broken,
                    lambda place, rows=rows, before=before: self._located(rows[place], before + place),
                    to_columns=self._columns,
                )
                before += len(rows)
        with suppress(Exception):
            # Ends the transaction that reading has begun.
            connection.rollback()

    def _fail_at_broken_row(self, read: SplitRead) -> None:
        """The driver does not say which row it was: reads them again, and raises an error that does."""
        for _ in self._rows(read, is_lenient=True):
            pass

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

    def _located(self, row: Sequence[Any], number: int) -> str:
        """Where a row is: by its value of the ordering column, where that is read, else by its number in the slice."""
        by = self._query.ordered_by
        names = [column.name for column in self._query.columns]
        place = f"{by.name} = {row[names.index(by.name)]}" if by is not None and by.name in names else f"row {number}"
        return f"table {self._query.table} in {self._query.connection.address}, {place}"

    def _columns(self, rows: Sequence[Sequence[Any]]) -> list[pa.Array]:
        try:
            return self._codec.to_columns(self._converted(rows))
        except (ArithmeticError, AttributeError, TypeError, ValueError) as problem:
            if isinstance(problem, TypeMismatchError):
                raise
            # A value that is not what its column says.
            raise TypeMismatchError(f"{type(problem).__name__}: {problem}") from problem

    def _converted(self, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        if not any(self._converters):
            return [tuple(row) for row in rows]
        fields = [
            values if convert is None else [None if value is None else convert(value) for value in values]
            for convert, values in zip(self._converters, zip(*rows, strict=True), strict=True)
        ]
        return list(zip(*fields, strict=True))
