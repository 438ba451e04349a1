"""Panes: the parts of time that windows are made of, with the partial aggregates of every key in them.

A pane is a list of chunks, one for every epoch that brought something; small ones are merged, so that what is written
follows what has changed. In the store every chunk has an entry for each key group:

    store prefix of the state | u16 key group | u32 0 | u64 start of the pane, moved to unsigned | u32 number

whose value is an Arrow record batch of keys and partial aggregates. Numbers are big-endian.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.runtime.columnar_windows.key_numbers import KeyNumbers, Numbers
from penstock.runtime.columnar_windows.parts import Columns, PartialRows
from penstock.runtime.columnar_windows.stored_columns import describe_columns
from penstock.runtime.columnar_windows.stored_key_fields import as_rows, stored_rows
from penstock.runtime.operator import OperatorContext
from penstock.runtime.window_state_form import PANES, kind_of_columns, stored_kind
from penstock.state.state_keys import StateKeys
from penstock.windows.assigner import WindowAssigner

_PLACE = Struct(">HIQI")
_OFFSET = 1 << 63


@dataclass
class _Chunk:
    """Partial aggregates of keys, each key once."""

    ids: Numbers
    columns: Columns
    number: int
    groups: list[int] = field(default_factory=list[int])
    """Where the store has entries of it."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass
class _Pane:
    chunks: list[_Chunk] = field(default_factory=list["_Chunk"])
    """As they are in the store, the oldest first."""
    fresh: list[tuple[Numbers, Columns]] = field(default_factory=list["tuple[Numbers, Columns]"])
    """What this epoch has brought."""
    next_number: int = 0
    """The number of the next chunk."""

    def parts(self) -> Iterator[tuple[Numbers, Columns]]:
        for chunk in self.chunks:
            yield chunk.ids, chunk.columns
        yield from self.fresh


class Panes:
    """The open panes of one operator subtask, all in memory."""

    def __init__(self, context: OperatorContext, aggregates: PartialRows, assigner: WindowAssigner[Any, Any]) -> None:
        self._store = context.store
        self._aggregates = aggregates
        self._max_parallelism = context.max_parallelism
        self._prefix = StateKeys(context.uid, PANES, context.max_parallelism)
        self._schema = _schema_of(aggregates)
        self._panes: dict[int, _Pane] = {}
        self._gone: list[tuple[int, _Chunk]] = []
        """Chunks that are to be removed from the store."""
        self.keys = KeyNumbers(context.max_parallelism)
        self._stored_kind = lambda: stored_kind(context, PANES)
        self.catalogue = describe_columns(context, PANES, aggregates, assigner)

    def __iter__(self) -> Iterator[int]:
        return iter(self._panes)

    def __contains__(self, start: int) -> bool:
        return start in self._panes

    def add(self, start: int, ids: Numbers, columns: Columns) -> None:
        """Adds partial aggregates to a pane."""
        self._panes.setdefault(start, _Pane()).fresh.append((ids, columns))

    def take(self, start: int) -> tuple[Numbers, Columns] | None:
        """Takes everything out of a pane; None where nothing is in it."""
        pane = self._panes.get(start)
        parts = [] if pane is None else list(pane.parts())
        if pane is None or not parts:
            return None
        self._gone += [(start, chunk) for chunk in pane.chunks]
        pane.chunks, pane.fresh = [], []
        return _joined(parts)

    def combined(self, starts: list[int]) -> tuple[Numbers, Columns]:
        """One partial aggregate for every key that some panes have, in the order of keys."""
        parts = [part for start in starts if start in self._panes for part in self._panes[start].parts()]
        ids, columns = _joined(parts)
        if len(parts) > 1:
            ids, columns = self._aggregates.combined(pa.array(ids), columns)
        order = pc.sort_indices(pa.array(self.keys.keys(ids), pa.binary()))
        return ids[order.to_numpy()], [column.take(order) for column in columns]

    def last_in_order(self) -> int:
        """The greatest place in the order of records; only where they have one."""
        places = [place for place, part in enumerate(self._aggregates.parts) if part.is_order]
        columns = [columns[place] for pane in self._panes.values() for _, columns in pane.parts() for place in places]
        return max((pc.max(column).as_py() for column in columns), default=0)

    def remove(self, start: int) -> None:
        """A pane that no window needs any more."""
        pane = self._panes.pop(start)
        self._gone += [(start, chunk) for chunk in pane.chunks]

    def flush(self) -> None:
        """Writes what this epoch has brought, and removes what is gone."""
        for start in sorted(self._panes):
            pane = self._panes[start]
            if pane.fresh:
                self._keep(start, pane)
        for start, chunk in self._gone:
            for group in chunk.groups:
                self._store.delete(self._key(group, start, chunk.number))
        self._gone = []
        self.catalogue.flush()
        if self.keys.is_worth_forgetting(sum(len(chunk) for pane in self._panes.values() for chunk in pane.chunks)):
            self._renumber()

    def load(self) -> None:
        """Reads everything from the store."""
        self.drop()
        kind = self._stored_kind()
        other = None if kind in (None, kind_of_columns(self._aggregates)) else stored_rows(self._aggregates, kind)
        schema = self._schema if other is None else _schema_of(other)
        found: dict[tuple[int, int], list[tuple[int, pa.RecordBatch]]] = {}
        for key, value in self._store.scan(*self._prefix.range):
            group, _, moved, number = _PLACE.unpack_from(key, len(self._prefix.prefix))
            batch = pa.ipc.read_record_batch(pa.py_buffer(value), schema)
            found.setdefault((moved - _OFFSET, number), []).append((group, batch))
        for (start, number), parts in sorted(found.items()):
            batches = pa.Table.from_batches([batch for _, batch in parts]).combine_chunks().to_batches()[0]
            ids = self.keys.of(batches.column(0).to_pylist())
            chunk = _Chunk(ids, batches.columns[1:], number, [group for group, _ in parts])
            pane = self._panes.setdefault(start, _Pane())
            pane.next_number = number + 1
            if other is None:
                pane.chunks.append(chunk)
            else:
                # Written anew, with what the epoch brings.
                self._gone.append((start, chunk))
                pane.fresh.append((ids, as_rows(self._aggregates, other, chunk.columns)))

    def drop(self) -> None:
        """Forgets everything that is in memory."""
        self._panes = {}
        self._gone = []
        self.keys = KeyNumbers(self._max_parallelism)

    def _keep(self, start: int, pane: _Pane) -> None:
        """Makes a chunk of what is fresh, and of the chunks before it that are not much larger."""
        parts, pane.fresh = pane.fresh, []
        size = sum(len(ids) for ids, _ in parts)
        number, pane.next_number = pane.next_number, pane.next_number + 1
        while pane.chunks and len(pane.chunks[-1]) <= 2 * size:
            chunk = pane.chunks.pop()
            self._gone.append((start, chunk))
            parts.insert(0, (chunk.ids, chunk.columns))
            size += len(chunk)
        ids, columns = _joined(parts)
        if len(parts) > 1:
            ids, columns = self._aggregates.combined(pa.array(ids), columns)
        chunk = _Chunk(ids, columns, number)
        pane.chunks.append(chunk)
        self._write(start, chunk)

    def _write(self, start: int, chunk: _Chunk) -> None:
        groups = self.keys.groups(chunk.ids)
        order = np.argsort(groups, kind="stable")
        keys = pa.array(self.keys.keys(chunk.ids[order]), pa.binary())
        places = pa.array(order)
        batch = pa.RecordBatch.from_arrays(
            [keys, *(column.take(places) for column in chunk.columns)], schema=self._schema
        )
        chunk.groups, firsts = (each.tolist() for each in np.unique(groups[order], return_index=True))
        for group, first, behind in zip(chunk.groups, firsts, [*firsts[1:], len(order)], strict=True):
            content = batch.slice(first, behind - first).serialize()
            self._store.put(self._key(group, start, chunk.number), content.to_pybytes())

    def _key(self, group: int, start: int, number: int) -> bytes:
        return self._prefix.prefix + _PLACE.pack(group, 0, start + _OFFSET, number)

    def _renumber(self) -> None:
        """Forgets keys that no pane has any more."""
        before, self.keys = self.keys, KeyNumbers(self._max_parallelism)
        for pane in self._panes.values():
            for chunk in pane.chunks:
                chunk.ids = self.keys.of(before.keys(chunk.ids))


def _schema_of(rows: PartialRows) -> pa.Schema:
    names = [str(place) for place in range(len(rows.types))]
    return pa.schema([("key", pa.binary()), *zip(names, rows.types, strict=True)])


def _joined(parts: list[tuple[Numbers, Columns]]) -> tuple[Numbers, Columns]:
    if len(parts) == 1:
        return parts[0]
    ids = np.concatenate([ids for ids, _ in parts])
    return ids, [pa.concat_arrays(columns) for columns in zip(*(columns for _, columns in parts), strict=True)]
