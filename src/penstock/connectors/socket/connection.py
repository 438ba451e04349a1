"""Receives text from a TCP server and cuts it into records."""

from __future__ import annotations

import codecs
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

from penstock.common.errors import SourceError
from penstock.functions.source_function import SourceContext, SourceFunction

_CONNECT_SECONDS = 10
_PAUSE_SECONDS = 1.0
_CHUNK_BYTES = 1 << 16
UNREADABLE = "surrogateescape"
"""How text holds bytes that are not UTF-8."""


class SocketTextFunction(SourceFunction):
    """Runs in a thread of the driver until the server ends the connection and there is no more trying again.

    Bytes that are not UTF-8 are kept, as Python's `surrogateescape` does it.
    """

    def __init__(self, hostname: str, port: int, delimiter: str, max_retry: int) -> None:
        self._hostname = hostname
        self._port = port
        self._delimiter = delimiter
        self._max_retry = max_retry
        self._cancelled = threading.Event()
        self._connection: socket.socket | None = None
        self._problem: OSError | None = None
        """Why the last connection was lost; None where the server has ended it."""

    def run(self, ctx: SourceContext) -> None:
        """Emits the records of one connection after the other; what a lost one has left half said is kept."""
        rest, failures = "", 0
        while not self._cancelled.is_set():
            for text in self._received():
                failures = 0
                *records, rest = (rest + text).split(self._delimiter)
                for record in records:
                    ctx.collect(record.removesuffix("\r") if self._delimiter == "\n" else record)
            failures += 1
            if 0 <= self._max_retry < failures:
                break
            self._cancelled.wait(_PAUSE_SECONDS)
        if self._cancelled.is_set():
            return
        if self._problem is not None:
            raise SourceError(
                f"socket {self._hostname}:{self._port}: {self._problem.strerror or self._problem}; `max_retry` is "
                f"{self._max_retry}: it says how often to try again, a second apart"
            ) from self._problem
        if rest:
            ctx.collect(rest)

    def cancel(self) -> None:
        """Ends the connection, and with it the wait for more."""
        self._cancelled.set()
        connection = self._connection
        if connection is not None:
            with suppress(OSError):  # the server may have been faster
                connection.shutdown(socket.SHUT_RDWR)

    def _received(self) -> Iterator[str]:
        """The text of one connection, as it comes."""
        decoder = codecs.getincrementaldecoder("utf-8")(UNREADABLE)
        try:
            with socket.create_connection((self._hostname, self._port), _CONNECT_SECONDS) as connection:
                # The wait for more has no end; a peer that has died without a word is found by the system.
                connection.settimeout(None)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                self._connection = connection
                while not self._cancelled.is_set() and (chunk := connection.recv(_CHUNK_BYTES)):
                    yield decoder.decode(chunk)
            self._problem = None
        except OSError as problem:
            self._problem = problem
        finally:
            self._connection = None
