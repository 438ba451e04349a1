"""Rows of a table as a stream."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.time import DurationLike, parse_duration
from penstock.common.typeinfo import BasicType, BasicTypeInfo, DateTypeInfo, TimestampTypeInfo, TypeInformation
from penstock.connectors.broken_records import FAIL, OnError, checked_on_error
from penstock.connectors.jdbc.database import TableColumn
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.connectors.jdbc.table_follower import Following, TableFollower
from penstock.connectors.jdbc.table_reader import TableQuery, TableReader
from penstock.connectors.jdbc.table_slices import SliceEnumerator, position
from penstock.connectors.source import Boundedness, EnumeratorContext, Source, SplitEnumerator, SplitReader
from penstock.functions.output_tag import OutputTag

_WHOLE_NUMBERS = frozenset({BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT})
_RISING = _WHOLE_NUMBERS | {BasicType.BIG_DEC, BasicType.STRING, BasicType.INSTANT}


class JdbcSource(Source):
    """The rows of a table, typed by its columns: read once in parallel slices, or followed by a rising column."""

    def __init__(
        self, query: TableQuery, following: Following | None, slices: int | None, on_error: OnError = FAIL
    ) -> None:
        self._query = query
        self._following = following
        self._slices = slices
        self._on_error = on_error

    @staticmethod
    def builder() -> JdbcSourceBuilder:
        """A new builder."""
        return JdbcSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        follows = self._following is not None and not self._following.is_bounded
        return Boundedness.CONTINUOUS_UNBOUNDED if follows else Boundedness.BOUNDED

    @property
    def broken_records_tag(self) -> OutputTag | None:  # noqa: D102
        return self._on_error if isinstance(self._on_error, OutputTag) else None

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._query.type_info

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        if self._following is not None:
            return TableFollower(self._query, self._following, context)
        return SliceEnumerator(self._query, self._slices, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return TableReader(self._query, in_order=self._following is not None, on_error=self._on_error)

    def describe(self) -> str:  # noqa: D102
        how = "" if self._following is None or self._query.ordered_by is None else f" by {self._query.ordered_by.name}"
        return f"table {self._query.table}{how} in {self._query.connection.address}"


class JdbcSourceBuilder:
    """Builds a `JdbcSource`: connection options and a table are required.

    Without a rising column the table is read once. It is cut into slices by its primary key, where that is one column
    of whole numbers, dates or timestamps, or by `set_slice_column`; without either it is read in one piece.
    """

    def __init__(self) -> None:
        self._connection: JdbcConnectionOptions | None = None
        self._table: str | None = None
        self._columns: tuple[str, ...] | None = None
        self._slice_column: str | None = None
        self._slices: int | None = None
        self._rising_column: str | None = None
        self._start: Any = None
        self._poll_interval = 1000
        self._lag = 0
        self._waits = True
        self._is_bounded = False
        self._on_error: OnError = FAIL

    def set_connection_options(self, jdbc_connection_options: JdbcConnectionOptions) -> JdbcSourceBuilder:
        """Where the database is and who connects."""
        self._connection = jdbc_connection_options
        return self

    def set_table(self, table: str) -> JdbcSourceBuilder:
        """The table or view, with its schema before a dot where it needs one."""
        self._table = table
        return self

    def set_columns(self, *columns: str) -> JdbcSourceBuilder:
        """The columns to read, in this order; all of them by default."""
        self._columns = columns
        return self

    def set_slice_column(self, column: str) -> JdbcSourceBuilder:
        """The column whose values cut the table into slices: whole numbers, dates or timestamps, best an index."""
        self._slice_column = column
        return self

    def set_slices(self, slices: int) -> JdbcSourceBuilder:
        """How many slices; by default as many as there are subtasks, and more for more than 100,000 rows each."""
        if type(slices) is not int or slices < 1:
            raise ConfigurationError(f"JdbcSource: set_slices takes a whole number of at least 1, got {slices!r}")
        self._slices = slices
        return self

    def set_rising_column(self, column: str) -> JdbcSourceBuilder:
        """Follows the table: each epoch reads the rows whose value is greater than the greatest that was read."""
        self._rising_column = column
        return self

    def set_start(self, value: Any) -> JdbcSourceBuilder:
        """Follows the table from here: rows with a greater value than this."""
        self._start = value
        return self

    def set_poll_interval(self, interval: DurationLike) -> JdbcSourceBuilder:
        """How often a table is looked at that has nothing new; 1 s by default."""
        self._poll_interval = parse_duration(interval)
        return self

    def set_lag(self, lag: DurationLike) -> JdbcSourceBuilder:
        """Leaves rows alone whose rising column, a time, is younger than this: others may still come before them."""
        self._lag = parse_duration(lag)
        return self

    def set_wait_for_open_transactions(self, wait: bool) -> JdbcSourceBuilder:
        """Whether rows wait until transactions that may have written before them have ended; by default they do."""
        self._waits = wait
        return self

    def set_bounded(self) -> JdbcSourceBuilder:
        """Follows the table only to the greatest value that is there at the start."""
        self._is_bounded = True
        return self

    def set_on_error(self, on_error: OnError) -> JdbcSourceBuilder:
        """What becomes of rows with values that are not what their column says: "fail", "skip", or an `OutputTag`.

        SQLite keeps any value in any column; PostgreSQL has times that Python does not have, such as `infinity`.
        """
        self._on_error = checked_on_error(on_error)
        return self

    def build(self) -> JdbcSource:
        """The source; connects to the database to see the table's columns."""
        if not isinstance(self._connection, JdbcConnectionOptions):
            raise ConfigurationError("JdbcSource: no database is given: call set_connection_options")
        if not self._table:
            raise ConfigurationError("JdbcSource: no table is given: call set_table")
        if self._rising_column is not None and (self._slice_column is not None or self._slices is not None):
            raise ConfigurationError("JdbcSource: a table is read in slices or followed by a rising column, not both")
        if self._rising_column is None and (self._start is not None or self._lag or self._is_bounded):
            raise ConfigurationError(
                "JdbcSource: set_start, set_lag and set_bounded are for a table that is followed: call "
                "set_rising_column"
            )
        return self._built(self._connection, self._table)

    def _built(self, connection: JdbcConnectionOptions, table: str) -> JdbcSource:
        database = database_of(connection)
        session = TableQuery(connection, table, ()).session(database)
        try:
            known, keys = session.transaction(
                lambda cursor: (database.table_columns(cursor, table), database.unique_keys(cursor, table))
            )
        finally:
            session.close()
        if not known:
            raise SourceError(f"the table {table} in {connection.address} does not exist: name it with its schema")
        columns = {column.name: column for column in known}
        missing = [name for name in (*(self._columns or ()), *self._ordering()) if name not in columns]
        if missing:
            raise SourceError(
                f"the table {table} in {connection.address} has no column {', '.join(missing)}; its columns are "
                f"{', '.join(columns)}"
            )
        selected = tuple(columns[name] for name in self._columns or columns)
        if self._rising_column is not None:
            following = Following(position(self._start), self._poll_interval, self._lag, self._waits, self._is_bounded)
            if self._lag and not database.older_than("x"):
                raise ConfigurationError(f"JdbcSource: set_lag is for PostgreSQL, not for {connection.address}")
            rising = _checked(columns[self._rising_column], _RISING, "rise")
            return JdbcSource(TableQuery(connection, table, selected, rising), following, None, self._on_error)
        sliced = None
        if self._slice_column is not None:
            sliced = _checked(columns[self._slice_column], _WHOLE_NUMBERS | {BasicType.INSTANT}, "cut a table")
        elif keys and len(keys[0]) == 1:
            (key,) = keys[0]
            sliced = columns[key] if _can(columns[key].type_info, _WHOLE_NUMBERS) else None
        return JdbcSource(TableQuery(connection, table, selected, sliced), None, self._slices, self._on_error)

    def _ordering(self) -> tuple[str, ...]:
        return tuple(name for name in (self._slice_column, self._rising_column) if name is not None)


def _can(type_info: TypeInformation, basic: frozenset[BasicType]) -> bool:
    if isinstance(type_info, DateTypeInfo | TimestampTypeInfo):
        return True
    return isinstance(type_info, BasicTypeInfo) and type_info.basic_type in basic


def _checked(column: TableColumn, basic: frozenset[BasicType], what: str) -> TableColumn:
    if not _can(column.type_info, basic):
        raise ConfigurationError(
            f"JdbcSource: the column {column.name} is of the type {column.type_info!r}, whose values cannot {what}"
        )
    return column
