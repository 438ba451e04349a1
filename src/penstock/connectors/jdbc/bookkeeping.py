"""The table in which the target itself remembers what was published."""
# ruff: noqa: S608 (names are quoted and values are parameters)

from __future__ import annotations

from penstock.connectors.jdbc.database import Cursor, Database, TryAgainError
from penstock.connectors.jdbc.placeholders import translated
from penstock.connectors.sink import EpochId

DEFAULT_TABLE = "penstock_epochs"


class Bookkeeping:
    """One row for each subtask of a sink of a job: the newest epoch of it that the database holds."""

    def __init__(self, database: Database, table: str, job_id: str, sink_uid: str) -> None:
        self._database = database
        self._name = table
        self._table = database.quoted_table(table)
        self._owner = (job_id, sink_uid)

    @property
    def definition(self) -> str:
        """The statement that makes the table."""
        return (
            f"CREATE TABLE IF NOT EXISTS {self._table} (job_id VARCHAR(64) NOT NULL, sink_uid VARCHAR(255) NOT NULL, "
            "subtask INTEGER NOT NULL, incarnation BIGINT NOT NULL, epoch BIGINT NOT NULL, "
            "PRIMARY KEY (job_id, sink_uid, subtask))"
        )

    def make(self, cursor: Cursor) -> None:
        """Makes the table where it is not there: who may not make tables can have it made for them."""
        if not self._database.table_columns(cursor, self._name):
            cursor.execute(self.definition)

    def newest(self, cursor: Cursor) -> EpochId | None:
        """The newest epoch of which the database holds anything."""
        cursor.execute(
            self._sql(f"SELECT incarnation, epoch FROM {self._table} WHERE job_id = ? AND sink_uid = ?"), self._owner
        )
        return max((EpochId(*row) for row in cursor.fetchall()), default=None)

    def claim(self, cursor: Cursor, subtask: int, epoch: EpochId) -> bool:
        """Notes that this transaction publishes an epoch of a subtask; False where that has happened before.

        The row is locked from here to the end of the transaction: whoever is at the same epoch waits for it, and then
        finds it published or takes it up.
        """
        key = (*self._owner, subtask)
        cursor.execute(
            self._sql(
                f"UPDATE {self._table} SET incarnation = ?, epoch = ? WHERE job_id = ? AND sink_uid = ? AND subtask = ?"
                " AND (incarnation < ? OR (incarnation = ? AND epoch < ?))"
            ),
            (*epoch, *key, epoch.incarnation, *epoch),
        )
        if cursor.rowcount == 1:
            return True
        cursor.execute(self._sql(f"SELECT 1 FROM {self._table} WHERE job_id = ? AND sink_uid = ? AND subtask = ?"), key)
        if cursor.fetchone() is not None:
            return False
        try:
            cursor.execute(self._sql(f"INSERT INTO {self._table} VALUES (?, ?, ?, ?, ?)"), (*key, *epoch))
        except Exception as error:
            if "IntegrityError" in {each.__name__ for each in type(error).__mro__}:
                raise TryAgainError(f"another process publishes epoch {epoch} of subtask {subtask}") from error
            raise
        return True

    def _sql(self, statement: str) -> str:
        return translated(statement, self._database.placeholder).sql
