"""A server for as long as it is needed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Server(Protocol):
    """What can be started, and taken away with all that it has written."""

    def start(self) -> None: ...

    def delete(self) -> None: ...


S = TypeVar("S", bound=Server)


@contextmanager
def running(server: S) -> Generator[S]:
    """Starts a server; deletes it in the end, also where it did not start."""
    try:
        server.start()
        yield server
    finally:
        server.delete()
