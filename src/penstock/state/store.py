"""The store under all state of a subtask: an ordered map of bytes, with the epoch's changes on top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from penstock.common.errors import StateError

if TYPE_CHECKING:
    from penstock.state.sorted_entries import SortedEntries

Entry = tuple[bytes, bytes | None]
"""A key and its value; None where the key is deleted."""


class StoreChangedError(StateError):
    """Another process has changed the committed entries under this one."""


class StateStore(Protocol):
    """Committed entries, and over them the changes of the epoch under way. Reads see both."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        ...

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key, or None: the same as `get` for each, at less cost."""
        ...

    def put(self, key: bytes, value: bytes) -> None:
        """Sets a value in the epoch under way."""
        ...

    def delete(self, key: bytes) -> None:
        """Removes a key in the epoch under way."""
        ...

    def put_all(self, entries: Iterable[Entry]) -> None:
        """Sets and deletes many values in the epoch under way."""
        ...

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The entries with start <= key < end in ascending order; the range must not be changed meanwhile."""
        ...

    def committed_lengths(self, keys: Sequence[bytes]) -> list[int]:
        """How long the committed value of each key is, whatever the epoch under way does to it; -1: there is none."""
        ...

    def changes(self) -> SortedEntries:
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
