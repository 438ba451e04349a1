"""Open sessions: their keys, times and partial aggregates, as columns.

What has changed is written per epoch: an entry of the store has all sessions of the keys of a key group that have
changed, and says what an earlier entry says of these keys no more. A key without sessions has a row without times.

    store prefix of the state | u16 key group | u32 0 | u64 number

The value is an Arrow record batch of keys, starts, ends and partial aggregates. Numbers are big-endian.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.runtime.columnar_windows.key_numbers import KeyNumbers, Numbers
from penstock.runtime.columnar_windows.parts import Columns, PartialRows
from penstock.runtime.columnar_windows.stored_columns import describe_columns
from penstock.runtime.operator import OperatorContext
from penstock.runtime.window_state_form import SESSIONS
from penstock.state.state_keys import StateKeys
from penstock.windows.assigner import WindowAssigner

_PLACE = Struct(">HIQ")
_FEWEST_ROWS = 64
"""Entries of fewer rows are not worth being written anew."""


class Sessions(NamedTuple):
    """Sessions, or records that are sessions of their own."""

    ids: Numbers
    starts: Numbers
    ends: Numbers
    columns: Columns

    def at(self, chosen: Numbers) -> Sessions:
        """Some of them."""
        places = pa.array(chosen)
        return Sessions(
            self.ids[chosen], self.starts[chosen], self.ends[chosen], [column.take(places) for column in self.columns]
        )


def joined(parts: list[Sessions]) -> Sessions:
    """All of them."""
    if len(parts) == 1:
        return parts[0]
    return Sessions(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.ends for part in parts]),
        [pa.concat_arrays(columns) for columns in zip(*(part.columns for part in parts), strict=True)],
    )


@dataclass
class _Group:
    """What the store has of a key group."""

    numbers: list[int] = field(default_factory=list[int])
    rows: int = 0


class OpenSessions:
    """The open sessions of one operator subtask, all in memory; of a key no two touch each other."""

    def __init__(self, context: OperatorContext, rows: PartialRows, assigner: WindowAssigner[Any, Any]) -> None:
        self._store = context.store
        self._rows = rows
        self._max_parallelism = context.max_parallelism
        self._prefix = StateKeys(context.uid, SESSIONS, context.max_parallelism)
        names = [str(place) for place in range(len(rows.types))]
        times = [("start", pa.int64()), ("end", pa.int64())]
        self._schema = pa.schema([("key", pa.binary()), *times, *zip(names, rows.types, strict=True)])
        self._catalogue = describe_columns(context, SESSIONS, rows, assigner)
        self.drop()

    def drop(self) -> None:
        """Forgets everything that is in memory."""
        self.keys = KeyNumbers(self._max_parallelism)
        nothing = np.empty(0, np.int64)
        self.all = Sessions(nothing, nothing, nothing, [pa.array([], each) for each in self._rows.types])
        self._changed: list[Numbers] = []
        self._groups: dict[int, _Group] = {}

    def add(self, new: Sessions) -> None:
        """Merges records or sessions with those that they touch, and these with each other."""
        self._changed.append(np.unique(new.ids))
        is_touched = np.zeros(len(self.keys), np.bool_)
        is_touched[new.ids] = True
        touched = is_touched[self.all.ids]
        if touched.any():
            new = joined([self.all.at(np.flatnonzero(touched)), new])
        merged = self._merged(new)
        kept = self.all if not touched.any() else self.all.at(np.flatnonzero(~touched))
        self.all = joined([kept, merged]) if len(kept.ids) else merged

    def _merged(self, given: Sessions) -> Sessions:
        order = np.lexsort((given.starts, given.ids))
        ids, starts, ends = given.ids[order], given.starts[order], given.ends[order]
        is_first = np.empty(len(ids), np.bool_)
        is_first[0] = True
        is_first[1:] = (ids[1:] != ids[:-1]) | (starts[1:] > _greatest_so_far(ids, ends)[:-1])
        firsts = np.flatnonzero(is_first)
        if len(firsts) == len(ids):
            return given
        numbers = np.empty(len(ids), np.int64)
        # The rows stay in the order in which they came.
        numbers[order] = np.cumsum(is_first) - 1
        made, columns = self._rows.combined(pa.array(numbers), given.columns)
        return Sessions(ids[firsts][made], starts[firsts][made], np.maximum.reduceat(ends, firsts)[made], columns)

    def take(self, watermark: int) -> Sessions:
        """Takes out the sessions that event time has passed, in the order of their ends and keys."""
        is_over = self.all.ends - 1 <= watermark
        if not is_over.any():
            return self.all.at(np.empty(0, np.int64))
        over = self.all.at(np.flatnonzero(is_over))
        self.all = self.all.at(np.flatnonzero(~is_over))
        self._changed.append(np.unique(over.ids))
        order = pc.sort_indices(
            pa.table({"end": over.ends, "key": pa.array(self.keys.keys(over.ids), pa.binary())}),
            sort_keys=[("end", "ascending"), ("key", "ascending")],
        )
        return over.at(order.to_numpy())

    # --- the store

    def flush(self) -> None:
        """Writes what this epoch has changed."""
        if self._changed:
            changed = np.unique(np.concatenate(self._changed))
            self._changed = []
            self._write(changed)
        self._catalogue.flush()
        if self.keys.is_worth_forgetting(len(self.all.ids)):
            before, self.keys = self.keys, KeyNumbers(self._max_parallelism)
            self.all = self.all._replace(ids=self.keys.of(before.keys(self.all.ids)))

    def _write(self, changed: Numbers) -> None:
        groups_of_changed = self.keys.groups(changed)
        groups_of_open = self.keys.groups(self.all.ids)
        number_open = np.bincount(groups_of_open, minlength=self._max_parallelism)
        is_changed = np.zeros(len(self.keys), np.bool_)
        is_changed[changed] = True
        rows_changed = np.flatnonzero(is_changed[self.all.ids])
        has_session = np.zeros(len(self.keys), np.bool_)
        has_session[self.all.ids] = True
        gone = changed[~has_session[changed]]
        for group in np.unique(groups_of_changed).tolist():
            known = self._groups.setdefault(group, _Group())
            chosen = rows_changed[groups_of_open[rows_changed] == group]
            without = gone[self.keys.groups(gone) == group]
            number = known.numbers[-1] + 1 if known.numbers else 0
            is_open = int(number_open[group])
            if is_open == 0 or known.rows + len(chosen) + len(without) > max(_FEWEST_ROWS, 2 * is_open):
                for each in known.numbers:
                    self._store.delete(self._key(group, each))
                known.numbers, known.rows = [], 0
                chosen, without = np.flatnonzero(groups_of_open == group), without[:0]
            if is_open:
                known.numbers.append(number)
                known.rows += len(chosen) + len(without)
                self._store.put(self._key(group, number), self._encoded(self.all.at(chosen), without))

    def _encoded(self, sessions: Sessions, gone: Numbers) -> bytes:
        def with_nothing(values: pa.Array) -> pa.Array:
            return pa.concat_arrays([values, pa.nulls(len(gone), values.type)]) if len(gone) else values

        keys = pa.array([*self.keys.keys(sessions.ids), *self.keys.keys(gone)], pa.binary())
        columns = [pa.array(sessions.starts), pa.array(sessions.ends), *sessions.columns]
        batch = pa.RecordBatch.from_arrays([keys, *map(with_nothing, columns)], schema=self._schema)
        return batch.serialize().to_pybytes()

    def load(self) -> None:
        """Reads everything from the store."""
        self.drop()
        batches: list[pa.RecordBatch] = []
        numbers: list[Numbers] = []
        for key, value in self._store.scan(*self._prefix.range):
            group, _, number = _PLACE.unpack_from(key, len(self._prefix.prefix))
            batch = pa.ipc.read_record_batch(pa.py_buffer(value), self._schema)
            known = self._groups.setdefault(group, _Group())
            known.numbers.append(number)
            known.rows += batch.num_rows
            batches.append(batch)
            numbers.append(np.full(batch.num_rows, number, np.int64))
        if not batches:
            return
        table = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
        ids, written = self.keys.of(table.column(0).to_pylist()), np.concatenate(numbers)
        newest = np.zeros(len(self.keys), np.int64)
        np.maximum.at(newest, ids, written)
        is_open = (written == newest[ids]) & table.column(1).is_valid().to_numpy(zero_copy_only=False)
        kept = table.take(pa.array(np.flatnonzero(is_open)))
        self.all = Sessions(ids[is_open], kept.column(1).to_numpy(), kept.column(2).to_numpy(), list(kept.columns[3:]))

    def _key(self, group: int, number: int) -> bytes:
        return self._prefix.prefix + _PLACE.pack(group, 0, number)


def _greatest_so_far(ids: Numbers, ends: Numbers) -> Numbers:
    """The greatest end of each row and those before it with the same id; ids are sorted."""
    count = len(ends)
    by_end = np.argsort(ends, kind="stable")
    ranks = np.empty(count, np.int64)
    ranks[by_end] = np.arange(count)
    # Ids are before ends in one number, so that those of an id begin anew.
    groups = np.concatenate(([0], np.cumsum(ids[1:] != ids[:-1])))
    greatest = np.maximum.accumulate(groups * count + ranks) - groups * count
    return ends[by_end[greatest]]
