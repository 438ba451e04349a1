"""Rows that wait to be written together."""

from __future__ import annotations

import pyarrow as pa

_FEW = 256


class GatheredBatches:
    """Record batches, in their order.

    In pipelined mode many have one row: the batch around it takes fifty times the space of the row, in memory and in
    a file, and a hundred times its work. They are made one batch now and then; large ones are copied once.
    """

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._new: list[pa.RecordBatch] = []
        self.nbytes = 0
        """How much there is in the columns."""

    def __len__(self) -> int:
        return len(self._batches) + len(self._new)

    def append(self, batch: pa.RecordBatch) -> None:
        """Adds some rows."""
        self._new.append(batch)
        self.nbytes += batch.nbytes
        if len(self._new) == _FEW:
            self._combine()

    def take(self) -> list[pa.RecordBatch]:
        """All rows in few batches; none is left."""
        if self._new:
            self._combine()
        batches, self._batches, self.nbytes = self._batches, [], 0
        return batches

    def _combine(self) -> None:
        new, self._new = self._new, []
        if len(new) > 1:
            new = pa.Table.from_batches(new).unify_dictionaries().combine_chunks().to_batches()
        self._batches += new
