"""The operator behind sessions of event time that are computed in columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.watermark_generator import MAX_TIMESTAMP
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.runtime.columnar_windows.base import ColumnarOperator, Mask
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.open_sessions import OpenSessions, Sessions, joined
from penstock.runtime.operator import OperatorContext
from penstock.windows.session import EventTimeSessionWindows

_WORTH_MERGING = 1 << 18
"""Records that wait to be merged."""


class ColumnarSessionOperator(ColumnarOperator):
    """Merges all records between two watermarks into sessions at once."""

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        super().open(context)
        assert isinstance(self._definition.assigner, EventTimeSessionWindows)
        self._gap = self._definition.assigner.gap_of(None)
        self._sessions = OpenSessions(context, self._aggregates, self._definition.assigner)
        self._pending: list[Sessions] = []
        """Records that are not in sessions yet."""
        self._pending_records = 0
        self._is_loaded = False

    def begin_epoch(self) -> None:
        """Reads the sessions, where another process has worked on them."""
        if not self._is_loaded:
            self._sessions.load()
            left = self._record_windows()
            if left is not None:
                starts, ends = np.array(left.starts, np.int64), np.array(left.ends, np.int64)
                self._sessions.add(Sessions(self._sessions.keys.of(left.keys), starts, ends, left.columns))
            self._is_loaded = True

    def process(self, batch: Batch, input_index: int) -> None:
        """Takes records."""
        if len(batch) == 0:
            return
        keys, times = self._keys_of(batch), self._times_of(batch)
        ids = self._sessions.keys.of(keys.distinct)[keys.codes]
        ends = np.minimum(times, MAX_TIMESTAMP - self._gap) + self._gap
        columns, late = batch.columns, self._late(ids, times, ends)
        if late is not None:
            self._skip(batch, late)
            kept = np.flatnonzero(~late)
            if len(kept) == 0:
                return
            columns, ids, times, ends = (
                [each.take(pa.array(kept)) for each in columns],
                ids[kept],
                times[kept],
                ends[kept],
            )
        try:
            made = self._aggregates.of_records(columns, len(ids))
        except RecordEvaluationError as failure:
            place = failure.index if late is None else int(np.flatnonzero(~late)[failure.index])
            raise self._failure(failure.cause, batch, place) from failure.cause
        self._pending.append(Sessions(ids, times, ends, made))
        self._pending_records += len(ids)
        if self._pending_records >= _WORTH_MERGING:
            self._merge_pending()

    def advance_watermark(self, watermark: int) -> int:
        """Fires the sessions that event time has passed."""
        self._merge_pending()
        self.current_watermark = watermark
        over = self._sessions.take(watermark)
        if len(over.ids):
            with self._computing():
                keys = self._key_columns.of(self._sessions.keys, over.ids)
                stamps = pa.array(over.ends - 1)
                made = self._aggregates.batch(self._output_codec, keys, over.columns, over.starts, over.ends, stamps)
            self._context.output.emit(made)
        return watermark

    def end_epoch(self) -> None:
        """Writes sessions to the store."""
        self._merge_pending()
        self._sessions.flush()
        self._remove_record_windows()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        self._sessions.drop()
        self._pending, self._pending_records = [], 0
        self._is_loaded = False

    def _merge_pending(self) -> None:
        if self._pending:
            pending, self._pending, self._pending_records = self._pending, [], 0
            with self._computing():
                self._sessions.add(joined(pending))

    def _late(self, ids: Numbers, times: Numbers, ends: Numbers) -> Mask | None:
        """Which records come too late; None where there is no such record.

        A record that would be too late by itself is not where it touches an open session, which the records before it
        may have made or moved. So the records of keys that have such a record are looked at one after the other.
        """
        is_past = ends - 1 <= self.current_watermark
        if not is_past.any():
            return None
        self._merge_pending()
        late = np.zeros(len(ids), np.bool_)
        is_affected = np.zeros(len(self._sessions.keys), np.bool_)
        is_affected[ids[is_past]] = True
        known: dict[int, list[tuple[int, int]]] = {}
        all_open = self._sessions.all
        for place in np.flatnonzero(is_affected[all_open.ids]).tolist():
            session = int(all_open.starts[place]), int(all_open.ends[place])
            known.setdefault(int(all_open.ids[place]), []).append(session)
        for place in np.flatnonzero(is_affected[ids]).tolist():
            sessions = known.setdefault(int(ids[place]), [])
            start, end = int(times[place]), int(ends[place])
            touched = [each for each in sessions if each[0] <= end and each[1] >= start]
            if not touched and is_past[place]:
                late[place] = True
                continue
            for each in touched:
                sessions.remove(each)
                start, end = min(start, each[0]), max(end, each[1])
            sessions.append((start, end))
        return late if late.any() else None
