"""A connection that lives from epoch to epoch, and transactions on it that are tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TypeVar

from penstock.common.errors import PenstockError
from penstock.connectors.jdbc.database import Connection, Cursor, Database, TryAgainError
from penstock.connectors.retries import retry_transient

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Session:
    """Connects when it is first needed, and again when the connection is lost."""

    def __init__(self, database: Database, max_retries: int, failure: Callable[[str], PenstockError]) -> None:
        self._database = database
        self._max_retries = max_retries
        self._failure = failure
        self._connection: Connection | None = None

    def transaction(self, work: Callable[[Cursor], T]) -> T:
        """What `work` returns, committed. After an error that may pass it is called again, from its start.

        When the connection is lost during the commit, nobody knows whether it happened: `work` itself must see.
        """
        conflicts = 0

        def is_transient(error: BaseException) -> bool:
            nonlocal conflicts
            if self._database.is_lost(error):
                return True
            if isinstance(error, TryAgainError) or self._database.is_conflict(error):
                conflicts += 1
                return conflicts <= self._max_retries
            return False

        return self._explained(lambda: self._attempt(work), is_transient)

    def connection(self) -> Connection:
        """The connection, for reading; raises our error where there is none to be had."""
        return self._explained(self._connected, self._database.is_lost)

    def close(self) -> None:
        """Lets go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            # A lost connection cannot even be closed in some drivers.
            with suppress(Exception):
                connection.close()

    def failure(self, error: BaseException) -> PenstockError:
        """Our error for one of the database."""
        database = self._database
        text = database.options.without_secrets(" ".join(str(error).split()))
        advice = database.advice(error)
        return self._failure(f"{text}{'. ' + advice if advice else ''} ({database.address})")

    def _explained(self, call: Callable[[], T], is_transient: Callable[[BaseException], bool]) -> T:
        seconds = self._database.options.check_timeout_seconds
        is_told = False

        def before_retry(error: BaseException) -> None:
            nonlocal is_told
            # A server may end connections as it likes; one that cannot be made is worth a word: somebody waits.
            if self._connection is None and not is_told and self._database.is_lost(error):
                _log.warning("%s; it is tried again for %.0f s", self.failure(error), seconds)
                is_told = True
            self._forget_if_lost(error)

        try:
            return retry_transient(call, is_transient=is_transient, timeout_seconds=seconds, before_retry=before_retry)
        except Exception as error:
            self._forget_if_lost(error)
            if isinstance(error, TryAgainError) or self._database.is_error(error):
                # The driver's own error is not chained: what it holds is not for logs.
                raise self.failure(error) from None
            raise

    def _attempt(self, work: Callable[[Cursor], T]) -> T:
        connection = self._connected()
        try:
            self._database.begin(connection)
            with closing(connection.cursor()) as cursor:
                result = work(cursor)
            connection.commit()
        except BaseException:
            with suppress(Exception):
                connection.rollback()
            raise
        return result

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def _forget_if_lost(self, error: BaseException) -> None:
        if self._database.is_lost(error):
            self.close()
