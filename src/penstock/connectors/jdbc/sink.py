"""Rows into a database: at least once by any statement, exactly once by way of the checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ConfigurationError, SinkError
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.jdbc.bookkeeping import DEFAULT_TABLE, Bookkeeping
from penstock.connectors.jdbc.database import Database, RowStatement, SqlStatement, TableTarget
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.direct_writer import DirectWriter
from penstock.connectors.jdbc.options import JdbcConnectionOptions, JdbcExecutionOptions
from penstock.connectors.jdbc.publishing import JdbcCommitter, JdbcPublisher
from penstock.connectors.jdbc.session import Session
from penstock.connectors.jdbc.staging import DeclaredColumns, StagingWriter
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    TokenPublisher,
)


@dataclass(frozen=True)
class _Write:
    """What is done with a row: a statement of the program, or a table of ours to write to."""

    type_info: CompositeTypeInfo
    sql: str | None = None
    target: TableTarget | None = None

    def statement(self, database: Database, batch_size: int) -> RowStatement:
        if self.target is not None:
            return database.table_statement(self.target, batch_size)
        assert self.sql is not None
        return SqlStatement(database, self.sql, self.type_info, batch_size)

    def __str__(self) -> str:
        if self.target is None:
            return "a statement"
        if not self.target.keys:
            return f"rows of {self.target.table}"
        return f"rows of {self.target.table} by {', '.join(self.target.keys)}"


class JdbcSink(Sink):
    """Writes records to PostgreSQL, MySQL, MariaDB or SQLite; made by one of its static methods.

    - `sink`: any statement with `?` for the fields, at least once: PyFlink's.
    - `exactly_once`: the same, exactly once.
    - `insert`, `upsert`: rows of a table, whose columns are the fields of the type; exactly once unless told
      otherwise. On PostgreSQL they go in by COPY.

    Exactly once means: tasks put the rows into the checkpoint directory, and when their epoch is committed they are
    written in a transaction together with the number of the epoch, in the table `penstock_epochs`.
    """

    def __init__(
        self,
        write: _Write,
        connection: JdbcConnectionOptions,
        execution: JdbcExecutionOptions | None,
        guarantee: DeliveryGuarantee,
        bookkeeping_table: str,
    ) -> None:
        _check("jdbc_connection_options", connection, JdbcConnectionOptions)
        self._write = write
        self._connection = connection
        self._execution = JdbcExecutionOptions.defaults() if execution is None else execution
        _check("jdbc_execution_options", self._execution, JdbcExecutionOptions)
        if guarantee is DeliveryGuarantee.NONE:
            raise ConfigurationError("JdbcSink: a database sink is exactly once or at least once, got NONE")
        self._guarantee = guarantee
        self._bookkeeping_table = bookkeeping_table
        self._session: Session | None = None
        # A statement that does not fit the type fails here, at the user's line.
        write.statement(database_of(connection), 1)

    @staticmethod
    def sink(
        sql: str,
        type_info: CompositeTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Executes a statement for every record, at least once: after a failure records of an epoch come again.

        `?` stands for the fields of the record, in their order; `??` is a question mark.
        """
        return JdbcSink(
            _Write(_fields("sink", type_info), sql=_statement(sql)),
            jdbc_connection_options,
            jdbc_execution_options,
            DeliveryGuarantee.AT_LEAST_ONCE,
            DEFAULT_TABLE,
        )

    @staticmethod
    def exactly_once(
        sql: str,
        type_info: CompositeTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        *,
        bookkeeping_table: str = DEFAULT_TABLE,
    ) -> JdbcSink:
        """Executes a statement for every record, exactly once. It must not commit by itself."""
        return JdbcSink(
            _Write(_fields("exactly_once", type_info), sql=_statement(sql)),
            jdbc_connection_options,
            jdbc_execution_options,
            DeliveryGuarantee.EXACTLY_ONCE,
            bookkeeping_table,
        )

    @staticmethod
    def insert(
        table: str,
        type_info: CompositeTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        *,
        delivery_guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
        bookkeeping_table: str = DEFAULT_TABLE,
    ) -> JdbcSink:
        """Adds records as rows of a table: the fields of the type are the columns that are written."""
        return JdbcSink.upsert(
            table,
            (),
            type_info,
            jdbc_connection_options,
            jdbc_execution_options,
            delivery_guarantee=delivery_guarantee,
            bookkeeping_table=bookkeeping_table,
        )

    @staticmethod
    def upsert(
        table: str,
        key_columns: Sequence[str],
        type_info: CompositeTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        *,
        delivery_guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
        bookkeeping_table: str = DEFAULT_TABLE,
    ) -> JdbcSink:
        """Writes records as rows of a table; a row takes the place of the one with the same key.

        The table needs a unique index on exactly the key columns. Records of one key should come from one subtask
        (`key_by` before the sink): which of two subtasks is last nobody knows.
        """
        fields = _fields("upsert" if key_columns else "insert", type_info)
        if not isinstance(table, str) or not table:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"JdbcSink: a table is given by its name, got {table!r}")
        keys = (key_columns,) if isinstance(key_columns, str) else tuple(key_columns)
        unknown = [key for key in keys if key not in fields.get_field_names()]
        if unknown:
            raise ConfigurationError(
                f"JdbcSink.upsert: the key columns {unknown} are no fields of the type: {fields.get_field_names()}"
            )
        return JdbcSink(
            _Write(fields, target=TableTarget(table, fields, keys)),
            jdbc_connection_options,
            jdbc_execution_options,
            delivery_guarantee,
            bookkeeping_table,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}

    def __repr__(self) -> str:
        return f"JdbcSink({self.describe()})"

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return self._guarantee

    @property
    def output_kind(self) -> str:
        """Names what is done with rows, their fields, and the table that says which epochs were published."""
        fields = ", ".join(self._write.type_info.get_field_names())
        what = self._write.sql or str(self._write)
        return f"{super().output_kind}, {what}, fields {fields}, epochs in {self._bookkeeping_table}"

    def for_records(self, record_type: TypeInformation) -> JdbcSink:
        """Refuses records of another number of fields, where it is known."""
        fields = self._write.type_info.get_field_names()
        if isinstance(record_type, CompositeTypeInfo) and len(record_type.get_field_names()) != len(fields):
            raise ConfigurationError(
                f"JdbcSink: the records have the fields {record_type.get_field_names()}, but the sink's type_info has "
                f"{fields}"
            )
        return self

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        database = database_of(self._connection)
        columns = DeclaredColumns(database, self._write.type_info)
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return StagingWriter(columns, context)
        if self._session is None:
            self._session = self._new_session(database)
        statement = self._write.statement(database, self._execution.batch_size)
        return DirectWriter(self._session, statement, columns, self._execution)

    def create_publisher(self, context: PublisherContext) -> TokenPublisher | None:  # noqa: D102
        if self._guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        database = database_of(self._connection)
        return JdbcPublisher(
            self._new_session(database),
            self._write.statement(database, self._execution.batch_size),
            Bookkeeping(database, self._bookkeeping_table, context.job_id, context.uid),
            context,
        )

    def create_committer(self, context: CommitterContext) -> Committer | None:  # noqa: D102
        if self._guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        database = database_of(self._connection)
        books = Bookkeeping(database, self._bookkeeping_table, context.job_id, context.uid)
        return JdbcCommitter(self._new_session(database), database, books, self._write.target)

    def close(self) -> None:
        """Lets go of the connection."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def describe(self) -> str:  # noqa: D102
        return f"{self._write} in {self._connection.address}"

    def _new_session(self, database: Database) -> Session:
        what = str(self._write)
        return Session(
            database,
            self._execution.max_retries,
            lambda message: SinkError(f"the JDBC sink cannot write {what}: {message}"),
        )


def _check(argument: str, value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise ConfigurationError(f"JdbcSink: {argument} is a {expected.__name__}, got {type(value).__name__}")


def _fields(method: str, type_info: object) -> CompositeTypeInfo:
    if not isinstance(type_info, CompositeTypeInfo):
        raise ConfigurationError(
            f"JdbcSink.{method}: type_info says the fields of the records, such as "
            f"Types.ROW_NAMED(['id'], [Types.LONG()]); got {type_info!r}"
        )
    return type_info


def _statement(sql: object) -> str:
    if not isinstance(sql, str) or not sql.strip():
        raise ConfigurationError(f"JdbcSink: the statement is SQL text with `?` for the fields, got {sql!r}")
    return sql
