"""Pipelined mode: sources that hold all their records, in order, as one split."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence

from penstock.common.batch import Batch
from penstock.connectors.live_source import LiveReader
from penstock.connectors.source import EnumeratorContext, EpochBudget, Json, SplitEnumerator, SplitRead, SplitReader

_SPLIT = "0"
_POSITION = "position"
_WITHOUT_LIMITS = EpochBudget(sys.maxsize, sys.maxsize, 1)


class LiveRowsEnumerator(SplitEnumerator):
    """Orders all that is left. Its state is that of the source's enumerator for epochs."""

    def __init__(self, rows: int, context: EnumeratorContext) -> None:
        self._rows = rows
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:  # noqa: D102
        start = self._state.get(_POSITION, 0)
        return [] if self.is_exhausted() else [SplitRead(_SPLIT, start, self._rows, finishes=True)]

    def live_splits(self) -> Collection[str]:  # noqa: D102
        return () if self.is_exhausted() else (_SPLIT,)

    def is_exhausted(self) -> bool:  # noqa: D102
        return self._state.get(_POSITION, 0) >= self._rows

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:  # noqa: D102
        self._state[_POSITION] = position


class LiveRowsReader(LiveReader):
    """Gives one batch after the other, or one in parts."""

    def __init__(self, reader: SplitReader) -> None:
        self._reader = reader
        self._batches: Iterator[Batch] = iter(())
        self._batch: Batch | None = None
        self._given = 0
        """How many records of that batch were given."""
        self._position = self._end = 0

    def follow(self, reads: Sequence[SplitRead]) -> None:  # noqa: D102
        (read,) = reads
        self._batches = self._reader.read(read, _WITHOUT_LIMITS)
        self._batch, self._given = None, 0
        self._position, self._end = read.start, read.end or 0

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:  # noqa: D102
        if self._batch is None:
            self._batch, self._given = next(self._batches, None), 0
        if self._batch is None:
            return []
        part = self._batch.part(self._given, min(self._given + self.most_records, len(self._batch)))
        self._given += len(part)
        self._position += len(part)
        if self._given == len(self._batch):
            self._batch = None
        return [(0, part)]

    def position(self, place: int) -> Json:  # noqa: D102
        return self._position

    def finished(self, place: int) -> bool:  # noqa: D102
        return self._position >= self._end

    def has_more(self, place: int) -> bool:  # noqa: D102
        return not self.finished(place)
