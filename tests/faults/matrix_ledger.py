"""A sink of the matrix's own: a table in SQLite, published by tasks, exactly once. It stands for any database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from penstock.common.batch import Batch
from penstock.common.fail_points import reach
from penstock.connectors.sink import (
    DeliveryGuarantee,
    EpochId,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
    TokenPublisher,
)

_TABLES = """
CREATE TABLE IF NOT EXISTS records (place INTEGER PRIMARY KEY AUTOINCREMENT, epoch TEXT, record TEXT);
CREATE TABLE IF NOT EXISTS epochs (job TEXT, uid TEXT, subtask INTEGER, incarnation INTEGER, number INTEGER,
    PRIMARY KEY (job, uid, subtask));
"""


class LedgerSink(Sink):
    """Rows of one type go to the table `records` of a database file, as JSON."""

    def __init__(self, path: Path, fields: Sequence[str]) -> None:
        self._path = str(path)
        self._fields = list(fields)

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.EXACTLY_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return _Writer(context, self._fields)

    def create_publisher(self, context: PublisherContext) -> TokenPublisher:
        return _Publisher(self._path, context)


class _Writer(SinkWriter):
    def __init__(self, context: SinkWriterContext, fields: list[str]) -> None:
        self._context = context
        self._fields = fields
        self._lines: list[str] = []

    def write(self, batch: Batch) -> None:
        for row in batch.values:
            self._lines.append(json.dumps({name: getattr(row, name) for name in self._fields}))

    def prepare_commit(self) -> list[Token]:
        if not self._lines:
            return []
        content = "\n".join(self._lines).encode()
        path = self._context.storage.write_staged(f"{self._context.staging}-{self._context.uid}", content)
        reach("ledger.staged")
        return [{"path": path}]


class _Publisher(TokenPublisher):
    def __init__(self, path: str, context: PublisherContext) -> None:
        self._path = path
        self._context = context

    def publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        place = (self._context.job_id, self._context.uid, self._context.subtask)
        connection = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        try:
            connection.executescript(_TABLES)
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute(
                "SELECT incarnation, number FROM epochs WHERE job = ? AND uid = ? AND subtask = ?", place
            ).fetchone()
            if found is None or EpochId(*found) < epoch:
                for token in tokens:
                    lines = self._context.storage.read_verified(token["path"]).decode().splitlines()
                    connection.executemany(
                        "INSERT INTO records (epoch, record) VALUES (?, ?)", [(str(epoch), line) for line in lines]
                    )
                reach("ledger.inserted")
                connection.execute("INSERT OR REPLACE INTO epochs VALUES (?, ?, ?, ?, ?)", (*place, *epoch))
            connection.execute("COMMIT")
            reach("ledger.committed")
        finally:
            connection.close()


def read_ledger(path: Path) -> list[dict[str, object]]:
    """The records in the order in which they became visible."""
    if not path.exists():
        return []
    connection = sqlite3.connect(path)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone():
            return []
        rows = connection.execute("SELECT record FROM records ORDER BY place").fetchall()
    finally:
        connection.close()
    return [json.loads(row[0]) for row in rows]
