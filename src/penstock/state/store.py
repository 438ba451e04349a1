"""The store under all state of a subtask: an ordered map of bytes, with the epoch's changes on top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from penstock.common.errors import StateError

Entry = tuple[bytes, bytes | None]
"""A key and its value; None where the key is deleted."""


class StoreChangedError(StateError):
    """Another process has changed the committed entries under this one."""


class StateStore(Protocol):
    """Committed entries, and over them the changes of the epoch under way. Reads see both."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        ...

    def put(self, key: bytes, value: bytes) -> None:
        """Sets a value in the epoch under way."""
        ...

    def delete(self, key: bytes) -> None:
        """Removes a key in the epoch under way."""
        ...

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The entries with start <= key < end in ascending order; the range must not be changed meanwhile."""
        ...

    def changes(self) -> list[Entry]:
        """What the epoch under way changed, sorted by key."""
        ...

    def discard_changes(self) -> None:
        """Forgets what the epoch under way changed."""
        ...

    @property
    def tag(self) -> str | None:
        """Which state the committed entries are: the newest state file applied; None: empty or unknown.

        Reading it pins that state: until `changes`, `apply` or `wipe`, reads see it, whatever others write.
        """
        ...

    def apply(self, entries: Iterable[Entry], tag: str) -> None:
        """Makes entries part of the committed ones, and sets the tag, in one step.

        Raises `StoreChangedError` when another process has changed the committed entries meanwhile.
        """
        ...

    def wipe(self) -> None:
        """Removes everything, the tag too."""
        ...

    def close(self) -> None:
        """Lets go of files."""
        ...
