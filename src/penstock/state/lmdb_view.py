"""The entries of a local store as of one moment, to be read by another thread while the store goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from penstock.common.errors import StateError

_ENTRIES_AT_ONCE = 5000


class ViewLostError(StateError):
    """The store was closed, replaced or made larger: what it held at that moment cannot be read any more."""


class LmdbView:
    """A read transaction that outlives the epoch. Whoever must not have one open ends it by `release`."""

    def __init__(self, transaction: Any, entries: Callable[[Any], Iterator[tuple[bytes, bytes]]]) -> None:
        self._lock = threading.Lock()
        self._transaction = transaction
        self._entries = entries(transaction.cursor())

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        while True:
            with self._lock:
                if self._transaction is None:
                    raise ViewLostError("the local store was closed or has grown meanwhile")
                part = list(islice(self._entries, _ENTRIES_AT_ONCE))
            if not part:
                return
            yield from part

    def release(self) -> None:
        """Ends the transaction, in whatever thread: pages of the file can be used again."""
        with self._lock:
            if self._transaction is not None:
                self._transaction.abort()
            self._transaction = None

    def abandon(self) -> object:
        """Called in a forked child: forgets what belongs to the parent, and returns it to be kept alive."""
        parents = (self._transaction, self._entries)
        self._lock = threading.Lock()
        self._transaction = None
        return parents
