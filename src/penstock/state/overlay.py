"""The changes of an epoch, over the committed entries of a store."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from itertools import islice

from penstock.state.sorted_entries import SortedEntries
from penstock.state.store import Entry


class Overlay:
    """Changed entries, to be read one by one through `entries` and in ascending order through `between`."""

    __slots__ = ("_ordered", "entries")

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes | None] = {}
        """Write to it directly; keys are never taken out, a deleted key has the value None."""
        self._ordered: list[bytes] = []

    def between(self, start: bytes, end: bytes) -> list[Entry]:
        """The changes with start <= key < end, sorted."""
        ordered = self._up_to_date_order()
        keys = ordered[bisect_left(ordered, start) : bisect_left(ordered, end)]
        return [(key, self.entries[key]) for key in keys]

    def sorted_entries(self) -> SortedEntries:
        """All changes, sorted."""
        return SortedEntries.of_changes(self.entries)

    def clear(self) -> None:
        """Forgets all changes."""
        self.entries = {}
        self._ordered = []

    def _up_to_date_order(self) -> list[bytes]:
        # Dicts keep the order of insertion, so the keys that are not in the list yet are the newest ones.
        missing = len(self.entries) - len(self._ordered)
        if missing > 32:
            self._ordered.extend(islice(reversed(self.entries), missing))
            self._ordered.sort()
        elif missing:
            for key in islice(reversed(self.entries), missing):
                insort(self._ordered, key)
        return self._ordered


def merge(base: Iterable[tuple[bytes, bytes]], changes: list[Entry]) -> Iterator[tuple[bytes, bytes]]:
    """The entries of `base` as `changes` leaves them; both are sorted."""
    pending = iter(changes)
    change = next(pending, None)
    for key, value in base:
        while change is not None and change[0] < key:
            if change[1] is not None:
                yield change[0], change[1]
            change = next(pending, None)
        if change is not None and change[0] == key:
            if change[1] is not None:
                yield key, change[1]
            change = next(pending, None)
        else:
            yield key, value
    while change is not None:
        if change[1] is not None:
            yield change[0], change[1]
        change = next(pending, None)
