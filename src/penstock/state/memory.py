"""A store that keeps its committed entries in a dict: for tests, notebooks and small state."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from penstock.state.overlay import Overlay, merge
from penstock.state.sorted_entries import SortedEntries
from penstock.state.store import Entry

_NOT_CHANGED = object()


class MemoryStore:
    """`StateStore` in the memory of one process."""

    def __init__(self) -> None:
        self._committed: dict[bytes, bytes] = {}
        self._ordered: list[bytes] | None = []
        self._overlay = Overlay()
        self._tag: str | None = None

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        value = self._overlay.entries.get(key, _NOT_CHANGED)
        return self._committed.get(key) if value is _NOT_CHANGED else value  # type: ignore[return-value]

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key, or None."""
        changes, committed = self._overlay.entries, self._committed
        return [changes[key] if key in changes else committed.get(key) for key in keys]

    def put(self, key: bytes, value: bytes) -> None:
        """Sets a value in the epoch under way."""
        self._overlay.entries[key] = value

    def delete(self, key: bytes) -> None:
        """Removes a key in the epoch under way."""
        self._overlay.entries[key] = None

    def put_all(self, entries: Iterable[Entry]) -> None:
        """Sets and deletes many values in the epoch under way."""
        self._overlay.entries.update(entries)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The entries with start <= key < end in ascending order."""
        if self._ordered is None:
            self._ordered = sorted(self._committed)
            # New keys go to the end of this dict, so that the next sort finds all others in order.
            self._committed = {key: self._committed[key] for key in self._ordered}
        keys = self._ordered[bisect_left(self._ordered, start) : bisect_left(self._ordered, end)]
        committed = self._committed
        return merge(((key, committed[key]) for key in keys), self._overlay.between(start, end))

    def committed_lengths(self, keys: Sequence[bytes]) -> list[int]:
        """How long the committed value of each key is; -1: there is none."""
        return [-1 if value is None else len(value) for value in map(self._committed.get, keys)]

    def changes(self) -> SortedEntries:
        """What the epoch under way changed, sorted by key."""
        return self._overlay.sorted_entries()

    def discard_changes(self) -> None:
        """Forgets what the epoch under way changed."""
        self._overlay.clear()

    @property
    def tag(self) -> str | None:
        """Which state the committed entries are."""
        return self._tag

    def apply(self, entries: Iterable[Entry], tag: str) -> None:
        """Makes entries part of the committed ones, and sets the tag."""
        committed = self._committed
        size = len(committed)
        for key, value in entries:
            if value is not None:
                committed[key] = value
            elif committed.pop(key, None) is not None:
                self._ordered = None
        if len(committed) != size:
            self._ordered = None
        self._tag = tag

    def wipe(self) -> None:
        """Removes everything, the tag too."""
        self._committed = {}
        self._ordered = []
        self._overlay.clear()
        self._tag = None

    def close(self) -> None:
        """Nothing to let go of."""
