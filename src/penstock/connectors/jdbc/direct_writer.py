"""Writes to the database at once: at least once, as Flink's JDBC sink does."""

from __future__ import annotations

import time

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.connectors.jdbc.database import RowStatement
from penstock.connectors.jdbc.options import JdbcExecutionOptions
from penstock.connectors.jdbc.session import Session
from penstock.connectors.jdbc.staging import DeclaredColumns
from penstock.connectors.sink import SinkWriter, Token


class DirectWriter(SinkWriter):
    """Collects rows into batches; each is a transaction. At the end of the epoch nothing waits."""

    def __init__(
        self, session: Session, statement: RowStatement, columns: DeclaredColumns, options: JdbcExecutionOptions
    ) -> None:
        self._session = session
        self._statement = statement
        self._columns = columns
        self._options = options
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._waiting_since = 0.0

    def write(self, batch: Batch) -> None:
        """Takes records, and writes when there are enough, or when they have waited for long enough."""
        if not len(batch):
            return
        if not self._waiting:
            self._waiting_since = time.monotonic()
        self._waiting.append(self._columns.of(batch))
        self._rows += len(batch)
        interval = self._options.batch_interval_ms
        has_waited = interval > 0 and (time.monotonic() - self._waiting_since) * 1000 >= interval
        if has_waited or self._rows >= self._options.batch_size:
            self._flush()

    def prepare_commit(self) -> list[Token]:
        """Writes what is left; there is nothing to publish."""
        if self._waiting:
            self._flush()
        return []

    def _flush(self) -> None:
        rows = pa.Table.from_batches(self._waiting).combine_chunks().to_batches()[0]
        self._session.transaction(lambda cursor: self._statement.apply(cursor, rows.columns))
        self._waiting, self._rows = [], 0
