"""The receiving end of an exchange: takes rows in whatever order they arrive and gives them in the one order.

Shuffle blocks arrive in a random order, but every attempt at a task must do the same work: broadcast inputs first,
then channels in ascending order, each by sequence number. What has to wait beyond the memory limit waits on disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import IO

from penstock.engine.stages.envelope import Envelope

_SortKey = tuple[bool, int, int, int]


class Gather:
    """Collects the rows of one task in one epoch."""

    def __init__(self, is_broadcast: Callable[[int], bool], memory_limit: int) -> None:
        self._is_broadcast = is_broadcast
        self._memory_limit = memory_limit
        self._in_memory = 0
        self._rows: list[tuple[_SortKey, Envelope, tuple[int, int] | None]] = []
        self._spill: IO[bytes] | None = None
        self.spilled_bytes = 0

    def add(self, row: Envelope) -> None:
        """Takes a row."""
        key = (not self._is_broadcast(row.edge), row.edge, row.sender, row.seq)
        place: tuple[int, int] | None = None
        if self._in_memory + len(row.payload) > self._memory_limit:
            place = self._write(row.payload)
            row = row._replace(payload=b"")
        else:
            self._in_memory += len(row.payload)
        self._rows.append((key, row, place))

    def channels(self) -> set[tuple[int, int]]:
        """The (edge, sender) of all rows."""
        return {(edge, sender) for (_, edge, sender, _), _, _ in self._rows}

    def broadcast_in_order(self) -> Iterator[Envelope]:
        """The rows of broadcast inputs alone, which are the first ones."""
        return self._in_order(lambda key: not key[0])

    def in_order(self) -> Iterator[Envelope]:
        """The rows in their order; each is given once and then forgotten."""
        return self._in_order(lambda key: True)

    def _in_order(self, is_asked_for: Callable[[_SortKey], bool]) -> Iterator[Envelope]:
        self._rows.sort(key=lambda entry: entry[0], reverse=True)
        while self._rows and is_asked_for(self._rows[-1][0]):
            _, row, place = self._rows.pop()
            yield row if place is None else row._replace(payload=self._read(place))

    def close(self) -> None:
        """Removes what was spilled."""
        if self._spill is not None:
            self._spill.close()

    def _write(self, content: bytes) -> tuple[int, int]:
        if self._spill is None:
            self._spill = tempfile.TemporaryFile(prefix="penstock-gather-")  # noqa: SIM115  closed by close()
        start = self.spilled_bytes
        self._spill.seek(start)
        self._spill.write(content)
        self.spilled_bytes += len(content)
        return start, len(content)

    def _read(self, place: tuple[int, int]) -> bytes:
        assert self._spill is not None
        start, length = place
        self._spill.seek(start)
        return self._spill.read(length)
