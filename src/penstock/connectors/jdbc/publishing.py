"""Publishes staged rows: they and the note of their epoch are one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from penstock.common.errors import SinkError
from penstock.common.fail_points import reach
from penstock.connectors.jdbc.bookkeeping import Bookkeeping
from penstock.connectors.jdbc.database import Cursor, Database, RowStatement, TableTarget
from penstock.connectors.jdbc.session import Session
from penstock.connectors.jdbc.staging import staged_rows
from penstock.connectors.sink import Committer, EpochId, PublisherContext, Token, TokenPublisher


class JdbcPublisher(TokenPublisher):
    """Publishes one subtask's output; its connection lives from epoch to epoch."""

    def __init__(
        self, session: Session, statement: RowStatement, books: Bookkeeping, context: PublisherContext
    ) -> None:
        self._session = session
        self._statement = statement
        self._books = books
        self._context = context

    def publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Writes the rows of an epoch, unless the database holds them already."""

        def work(cursor: Cursor) -> None:
            if not self._books.claim(cursor, self._context.subtask, epoch):
                return
            reach("sink.jdbc.claimed")
            for columns in staged_rows(self._context.storage, tokens):
                self._statement.apply(cursor, columns)
            reach("sink.jdbc.written")

        self._session.transaction(work)
        reach("sink.jdbc.published")

    def close(self) -> None:
        """Lets go of the connection."""
        self._session.close()


class JdbcCommitter(Committer):
    """On the driver, before anything is read: is the target there, and is it as old as the checkpoint?"""

    def __init__(self, session: Session, database: Database, books: Bookkeeping, target: TableTarget | None) -> None:
        self._session = session
        self._database = database
        self._books = books
        self._target = target

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """The publishers have done it."""

    def recover(self, newest: EpochId | None) -> None:
        """Looks at the target, and refuses one that holds more than the checkpoint knows of."""
        self._session.connection()
        try:
            self._session.transaction(self._books.make)
        except SinkError as problem:
            raise SinkError(
                f"{problem}. The sink keeps the number of the newest epoch in a table, which it could not make; have "
                f"it made by somebody who may: {self._books.definition}"
            ) from None
        published = self._session.transaction(self._look)
        self._session.close()
        if published is not None and (newest is None or published > newest):
            known = "no epoch" if newest is None else f"epoch {newest} as its newest"
            raise SinkError(
                f"{self._database.address} holds epoch {published} of this sink, but the checkpoint knows {known}: it "
                "is an older copy, and going on from it would write rows twice. Use the newest checkpoint of the job"
            )

    def close(self) -> None:
        """Lets go of the connection."""
        with suppress(Exception):
            self._session.close()

    def _look(self, cursor: Cursor) -> EpochId | None:
        if self._target is not None:
            check_target(self._database, cursor, self._target)
        return self._books.newest(cursor)


def check_target(database: Database, cursor: Cursor, target: TableTarget) -> None:
    """Raises `SinkError` where a table cannot take the rows: it is not there, or lacks a column or a unique index."""
    known = [column.name for column in database.table_columns(cursor, target.table)]
    where = f"the table {target.table} in {database.address}"
    if not known:
        raise SinkError(f"{where} does not exist: make it first, or name it with its schema")
    missing = [name for name in target.columns if name not in known]
    if missing:
        raise SinkError(f"{where} has no column {', '.join(missing)}; its columns are {', '.join(known)}")
    if target.keys and frozenset(target.keys) not in database.unique_keys(cursor, target.table):
        keys = ", ".join(target.keys)
        raise SinkError(
            f"{where} has no primary key and no unique index on exactly ({keys}), which an upsert by these columns "
            "needs: make one"
        )
