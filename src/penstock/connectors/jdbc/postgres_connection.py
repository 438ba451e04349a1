"""Connections to PostgreSQL that do not wait for ever.

The server ends statements that take too long, but a server that hangs, or a network that swallows what is sent, says
nothing at all, and libpq has no time-out for that. So the wait for an answer is watched from here.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

GRACE_SECONDS = 5.0
"""How much later than the server's own time-out a connection is given up."""


class CutAfter:
    """Ends a connection from this side when a block takes too long: whoever waits for its answer gets an error."""

    def __init__(self, descriptor: int, seconds: float) -> None:
        self._descriptor = descriptor
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self.has_cut = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        self.has_cut = True
        with suppress(OSError), socket.socket(fileno=os.dup(self._descriptor)) as connection:
            connection.shutdown(socket.SHUT_RDWR)


def watched_connection_class(psycopg: Any, statement_timeout_seconds: float) -> Any:
    """A class of psycopg connections that give up a server which does not answer."""
    seconds = statement_timeout_seconds + GRACE_SECONDS

    class WatchedConnection(psycopg.Connection):
        def wait(self, *arguments: Any, **options: Any) -> Any:
            """All that psycopg does with the server passes here, one step at a time."""
            with CutAfter(self.fileno(), seconds) as watch:
                try:
                    return super().wait(*arguments, **options)
                except psycopg.OperationalError as problem:
                    if watch.has_cut:
                        raise psycopg.OperationalError(
                            f"the server has not answered for {seconds:g} s, and the connection was given up"
                        ) from problem
                    raise

    return WatchedConnection
