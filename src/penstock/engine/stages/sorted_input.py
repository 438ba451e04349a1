"""Batch execution: what the keyed inputs of a chain receive, sorted by key.

All records of a key come one after the other, so that an operator needs the state of one key only. Within a key they
are in the order of their timestamps, then of their arrival (edge, channel, place in it), whichever input they came by.
Rows may be added in any order. Beyond the memory limit they wait on disk, in sorted runs that are merged at the end.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec, concatenated
from penstock.common.codecs import codec_for
from penstock.common.errors import PlanError
from penstock.common.growing_columns import one_array
from penstock.common.kernels import pc
from penstock.engine.stages.compiled import CompiledEdge
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.payload import open_buffer
from penstock.engine.stages.sorted_runs import (
    KEY,
    ORDER_NAMES,
    RECORD_COLUMNS,
    TIMESTAMP,
    Run,
    merged,
    order_of,
    sorted_table,
)

_LARGEST_RUN = 1 << 30
"""Arrow's offsets have 32 bits: no column of a run may come near 2 GiB."""
_LARGEST_CHUNK = 1 << 20
_MERGED_AT_ONCE = 64
"""Runs of one edge that are merged into a longer one: the memory of a merge is one chunk per run."""
_BLOCK_ROWS = 8_192
_PICKLED = "__pickled"


class KeyGroup(NamedTuple):
    """Records of one key and one edge that follow each other; a key has one or more groups, all in a row."""

    key: bytes
    edge: CompiledEdge
    batch: Batch


class SortedInput:
    """Takes the data rows of a chain's sorted edges in one epoch and gives their records by key."""

    def __init__(self, edges: Sequence[CompiledEdge], memory_limit: int) -> None:
        self._edges = {edge.number: edge for edge in edges}
        self._codecs = {edge.number: codec_for(edge.record_type) for edge in edges}
        # Sorting copies what it sorts: half of the memory is for the rows, half for the copy.
        self._run_bytes = max(1, min(memory_limit // 2, _LARGEST_RUN))
        self._chunk_bytes = max(1, min(memory_limit // _MERGED_AT_ONCE, _LARGEST_CHUNK))
        self._pending: dict[int, list[pa.RecordBatch]] = {}
        self._pending_bytes = 0
        self._runs: dict[int, list[list[Run]]] = {number: [[]] for number in self._edges}
        """By edge and by how often the rows of a run have been merged."""
        self.records: dict[int, int] = {}
        """Records taken, by edge."""
        self.combined = 0
        """How many of them others stand for."""
        self.spilled_bytes = 0

    def takes(self, edge: int) -> bool:
        """Whether the rows of an edge belong here."""
        return edge in self._edges

    def add(self, row: Envelope) -> None:
        """Takes a data row."""
        rows, records = _as_rows(self._codecs[row.edge], row, self._edges[row.edge])
        self.records[row.edge] = self.records.get(row.edge, 0) + records
        self.combined += records - rows.num_rows
        if rows.num_rows == 0:
            return
        self._pending.setdefault(row.edge, []).append(rows)
        self._pending_bytes += rows.nbytes
        if self._pending_bytes > self._run_bytes:
            self._spill()

    def in_order(self) -> Iterator[KeyGroup]:
        """All records, sorted; each is given once."""
        if not self.spilled_bytes:
            pending = self._take_pending()
            if pending:
                yield from self._groups(pending)
            return
        self._spill()
        runs = [run for levels in self._runs.values() for level in levels for run in level]
        yield from _cut_as_in_memory(group for block in merged(runs) for group in self._groups(block))

    def close(self) -> None:
        """Removes what was spilled."""
        for levels in self._runs.values():
            for level in levels:
                for run in level:
                    run.close()

    def _take_pending(self) -> list[tuple[int, pa.Table]]:
        pending, self._pending, self._pending_bytes = self._pending, {}, 0
        return [(edge, pa.Table.from_batches(batches)) for edge, batches in sorted(pending.items())]

    def _spill(self) -> None:
        for edge, table in self._take_pending():
            self._add_run(0, Run(edge, [sorted_table(edge, table)], self._chunk_bytes))

    def _add_run(self, level: int, run: Run) -> None:
        self.spilled_bytes += run.size
        levels = self._runs[run.edge]
        levels[level].append(run)
        if len(levels[level]) < _MERGED_AT_ONCE:
            return
        parts, levels[level] = levels[level], []
        if level + 1 == len(levels):
            levels.append([])
        tables = (sorted_table(edge, table) for block in merged(parts) for edge, table in block)
        self._add_run(level + 1, Run(run.edge, tables, self._chunk_bytes))

    def _groups(self, tables: list[tuple[int, pa.Table]]) -> Iterator[KeyGroup]:
        order, ranks = order_of(tables)
        combined = [(edge, table.combine_chunks()) for edge, table in tables]
        starts = np.cumsum([0, *(table.num_rows for _, table in tables)])
        for first in range(0, len(order), _BLOCK_ROWS):
            block = order[first : first + _BLOCK_ROWS]
            of_table = np.searchsorted(starts, block, side="right") - 1
            records: dict[int, _Records] = {}
            for number in np.unique(of_table).tolist():
                edge, table = combined[number]
                records[number] = _Records(self._codecs[edge], table, block[of_table == number] - starts[number])
            # A group ends where the key or the edge changes.
            changes = np.flatnonzero((np.diff(ranks[block]) != 0) | (np.diff(of_table) != 0)) + 1
            ends = [*changes.tolist(), len(block)]
            begin = 0
            for end, number in zip(ends, of_table[np.array(ends) - 1].tolist(), strict=True):
                key, batch = records[number].next(end - begin)
                yield KeyGroup(key, self._edges[combined[number][0]], batch)
                begin = end


class _Records:
    """Rows of a block that are of one edge, as Python values."""

    def __init__(self, codec: RecordCodec, table: pa.Table, indices: Any) -> None:
        self._codec = codec
        self._at = 0
        rows = table.take(pa.array(indices))
        columns = [one_array(column) for column in rows.columns]
        self._keys: list[bytes] = columns[KEY].to_pylist()
        has_timestamps = columns[TIMESTAMP].null_count < rows.num_rows
        self._timestamps: list[int | None] | None = columns[TIMESTAMP].to_pylist() if has_timestamps else None
        if codec.schema is None:
            self._values = [pickle.loads(data) for data in columns[RECORD_COLUMNS].to_pylist()]
        else:
            self._values = codec.to_values(columns[RECORD_COLUMNS:])

    def next(self, count: int) -> tuple[bytes, Batch]:
        start = self._at
        end = self._at = start + count
        timestamps = None if self._timestamps is None else self._timestamps[start:end]
        if timestamps is not None and timestamps.count(None) == count:
            timestamps = None
        key = self._keys[start]
        return key, Batch(self._codec, values=self._values[start:end], timestamps=timestamps, keys=[key] * count)


def _cut_as_in_memory(groups: Iterable[KeyGroup]) -> Iterator[KeyGroup]:
    """The groups that there would be had all rows been sorted at once.

    Where runs end depends on the order of arrival. What an operator gets, and sends on, must not.
    """
    held: list[Batch] = []
    key, edge = b"", None
    left = _BLOCK_ROWS
    for group in groups:
        if held and (group.key != key or group.edge is not edge):
            yield _joined(key, edge, held)
            held = []
        key, edge, start = group.key, group.edge, 0
        while start < len(group.batch):
            part = _part(group.batch, start, start + left)
            held.append(part)
            start += len(part)
            left -= len(part)
            if left == 0:
                yield _joined(key, edge, held)
                held, left = [], _BLOCK_ROWS
    if held:
        yield _joined(key, edge, held)


def _part(batch: Batch, start: int, end: int) -> Batch:
    if start == 0 and end >= len(batch):
        return batch
    timestamps = None if batch.timestamps is None else batch.timestamps[start:end]
    return Batch(batch.codec, values=batch.values[start:end], timestamps=timestamps, keys=(batch.keys or [])[start:end])


def _joined(key: bytes, edge: CompiledEdge | None, parts: list[Batch]) -> KeyGroup:
    assert edge is not None
    batch = concatenated(parts)
    timestamps = batch.timestamps
    if timestamps is not None and timestamps.count(None) == len(timestamps):
        timestamps = None
    return KeyGroup(key, edge, Batch(batch.codec, values=batch.values, timestamps=timestamps, keys=[key] * len(batch)))


def _as_rows(codec: RecordCodec, row: Envelope, edge: CompiledEdge) -> tuple[pa.RecordBatch, int]:
    """The records of a row, and how many they were before they were combined on their way."""
    buffer = open_buffer(codec, row.payload)
    if buffer.keys is None:
        raise PlanError(f"records without keys came to '{edge.target_name}', which is keyed")
    count = len(buffer.keys)
    timestamps = pa.nulls(count, pa.int64()) if buffer.timestamps is None else buffer.timestamps
    if buffer.columns is None:
        # One by one: rows of different buffers get between each other, and Arrow can say how much memory they need.
        pickled = [pickle.dumps(value, protocol=5) for value in buffer.values or ()]
        names, columns = [_PICKLED], [pa.array(pickled, pa.binary())]
    else:
        assert codec.schema is not None
        names, columns = codec.schema.names, buffer.columns
    rows = pa.RecordBatch.from_arrays(
        [
            buffer.keys.dictionary_decode(),
            timestamps,
            pa.repeat(pa.scalar(row.sender, pa.int64()), count),
            pa.repeat(pa.scalar(row.seq, pa.int64()), count),
            *columns,
        ],
        [*ORDER_NAMES, *names],
    )
    return rows, count if buffer.record_counts is None else pc.sum(buffer.record_counts).as_py()
