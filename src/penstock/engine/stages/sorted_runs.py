"""The order of rows in batch execution, and sorted runs of them on disk.

Rows are Arrow columns: the encoded key, the timestamp, the channel's sender, the buffer's place in the channel, and
then what the records are made of. The order is (key, timestamp, edge, sender, place); records without a timestamp come
before those with one. Rows that are equal in all of it are of one buffer, and stay as they lie.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc

KEY, TIMESTAMP, SENDER, PLACE = range(4)
ORDER_NAMES = ("__key", "__timestamp", "__sender", "__place")
RECORD_COLUMNS = len(ORDER_NAMES)
"""The number of the first column that belongs to the records."""

_NO_TIMESTAMP = -(1 << 63)
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Position = tuple[bytes, int, int, int, int]
"""The place of a row in the order."""


def order_of(tables: Sequence[tuple[int, pa.Table]]) -> tuple[Numbers, Numbers]:
    """How to sort the rows of some edges, counted through: their indices in order, and the rank of each row's key."""
    ranks = _key_ranks([chunk for _, table in tables for chunk in table.column(KEY).chunks])
    edges = np.repeat([edge for edge, _ in tables], [table.num_rows for _, table in tables])
    senders, places = (
        np.concatenate([table.column(column).to_numpy() for _, table in tables]) for column in (SENDER, PLACE)
    )
    times = np.concatenate([pc.fill_null(table.column(TIMESTAMP), _NO_TIMESTAMP).to_numpy() for _, table in tables])
    return np.lexsort((places, senders, edges, times, ranks)), ranks


def _key_ranks(chunks: list[pa.Array]) -> Numbers:
    encoded = pa.chunked_array(chunks, pa.binary()).dictionary_encode()
    if encoded.num_chunks == 0:
        return np.empty(0, np.int64)
    ascending = pc.call_function("array_sort_indices", [encoded.chunk(0).dictionary]).to_numpy()
    rank_of_code = np.empty(len(ascending), np.int64)
    rank_of_code[ascending] = np.arange(len(ascending))
    return rank_of_code[np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])]


def sorted_table(edge: int, table: pa.Table) -> pa.Table:
    """The rows of one edge in order."""
    order, _ = order_of([(edge, table)])
    return table.combine_chunks().take(pa.array(order))


class Run:
    """Sorted rows of one edge in a file, which are read a chunk at a time."""

    def __init__(self, edge: int, tables: Iterable[pa.Table], chunk_bytes: int) -> None:
        """Writes the tables, whose rows follow each other in order."""
        self.edge = edge
        self._file = tempfile.TemporaryFile(prefix="penstock-sort-")  # noqa: SIM115  closed by close()
        writer: pa.RecordBatchStreamWriter | None = None
        for table in tables:
            writer = writer or pa.ipc.new_stream(self._file, table.schema)
            rows = max(1, table.num_rows * chunk_bytes // max(1, table.nbytes))
            writer.write_table(table, max_chunksize=rows)
        assert writer is not None, "a run has rows"
        writer.close()
        self.size = self._file.tell()
        self._file.seek(0)
        self._reader = pa.ipc.open_stream(self._file)
        self._rows = self._reader.read_next_batch()
        self._last = self._position(self._rows.num_rows - 1)

    @property
    def last(self) -> Position:
        """The last row of the chunk that is in memory."""
        return self._last

    def take_through(self, bound: Position) -> pa.RecordBatch | None:
        """Takes the rows up to `bound` out of the chunk that is in memory; None where there are none."""
        rows = self._rows
        if self._last <= bound:
            self._rows = rows.slice(rows.num_rows)
            return rows
        if self._position(0) > bound:
            return None
        count = bisect_right(range(rows.num_rows), bound, key=self._position)
        self._rows = rows.slice(count)
        return rows.slice(0, count)

    def has_more(self) -> bool:
        """Reads the next chunk when this one is used up; False at the end of the run, which is then gone."""
        if self._rows.num_rows:
            return True
        try:
            self._rows = self._reader.read_next_batch()
        except StopIteration:
            self.close()
            return False
        self._last = self._position(self._rows.num_rows - 1)
        return True

    def close(self) -> None:
        """Removes the file."""
        self._file.close()

    def _position(self, row: int) -> Position:
        key, timestamp, sender, place = (self._rows.column(column)[row].as_py() for column in range(RECORD_COLUMNS))
        return key, _NO_TIMESTAMP if timestamp is None else timestamp, self.edge, sender, place


def merged(runs: Iterable[Run]) -> Iterator[list[tuple[int, pa.Table]]]:
    """The rows of some runs, block by block: all rows of a block come before those of the next.

    Within a block they are not in order yet. In each step at least one run's chunk in memory is used up.
    """
    active = list(runs)
    while active:
        bound = min(run.last for run in active)
        taken: dict[int, list[pa.RecordBatch]] = {}
        for run in active:
            rows = run.take_through(bound)
            if rows is not None:
                taken.setdefault(run.edge, []).append(rows)
        yield [(edge, pa.Table.from_batches(batches)) for edge, batches in sorted(taken.items())]
        active = [run for run in active if run.has_more()]
