"""The operator behind windows of event time whose aggregates are declared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.kernels import pc
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.functions.function import RuntimeContext
from penstock.runtime.columnar_windows.base import ColumnarOperator, Mask
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.pane_combiner import PartialsCodec
from penstock.runtime.columnar_windows.panes import Panes
from penstock.runtime.columnar_windows.parts import Columns
from penstock.runtime.operator import OperatorContext
from penstock.runtime.runtime_context import OperatorRuntimeContext
from penstock.runtime.window_state_form import refused
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner
from penstock.windows.window import TimeWindow

_WORTH_COMBINING = 1 << 18
"""Records that wait to be combined: enough to make the calls of kernels cheap, few enough to fit into caches."""
_FAR_TIME = 1 << 62
_MOST_PANES = 1 << 12
_Place = tuple[int, int]
"""The last millisecond of a window, and its start: of those that end with time, several have the same end."""
_Records = tuple[Numbers, Numbers, Columns]
"""The starts of their panes, their keys, themselves."""


class ColumnarWindowOperator(ColumnarOperator):
    """Adds records to panes and makes windows of panes, for all keys at once."""

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        super().open(context)
        assert isinstance(self._definition.assigner, AlignedWindowAssigner)
        self._assigner = self._definition.assigner
        self._panes = Panes(context, self._aggregates, self._assigner)
        self._is_loaded = False
        self._assigner_context = _AssignerContext(context)
        self._next_in_order = 0
        """The place of the next record in the order of arrival."""
        self._open_windows: dict[_Place, TimeWindow] = {}
        """Windows that have not fired."""
        self._pending: list[_Records] = []
        """Records that are not in panes yet."""
        self._pending_records = 0

    def begin_epoch(self) -> None:
        """Reads the panes, where another process has worked on them."""
        if not self._is_loaded:
            self._panes.load()
            self._go_on_with_records()
            self._open_windows = {}
            for pane in self._panes:
                self._learn(pane)
            self._next_in_order = self._panes.last_in_order() + 1
            self._is_loaded = True

    def _go_on_with_records(self) -> None:
        left = self._record_windows()
        if left is not None:
            ids, starts = self._panes.keys.of(left.keys), np.array(left.starts, np.int64)
            for window in sorted(set(map(TimeWindow, left.starts, left.ends))):
                if self._windows_of(window.start) != [window]:
                    reason = f"one of them is {window!r}, which is none of {self._assigner!r}"
                    raise refused(self._context, "record by record", "in columns", reason)
            for start in np.unique(starts).tolist():
                chosen = np.flatnonzero(starts == start)
                self._panes.add(start, ids[chosen], [column.take(pa.array(chosen)) for column in left.columns])

    def process(self, batch: Batch, input_index: int) -> None:
        """Adds records to their panes."""
        if len(batch) == 0:
            return
        keys, panes = self._keys_of(batch), self._panes_of(batch)
        columns, codes, order = batch.columns, keys.codes, self._order_of(batch)
        late = self._late(panes)
        if late is not None:
            self._skip(batch, late)
            kept = pa.array(np.flatnonzero(~late))
            if len(kept) == 0:
                return
            columns, codes, panes = [each.take(kept) for each in columns], codes[~late], panes[~late]
            order = None if order is None else order[~late]
        try:
            made = self._aggregates.of_records(columns, len(panes), order)
        except RecordEvaluationError as failure:
            place = failure.index if late is None else int(np.flatnonzero(~late)[failure.index])
            raise self._failure(failure.cause, batch, place) from failure.cause
        self._take(panes, self._panes.keys.of(keys.distinct)[codes], made)

    def _take(self, panes: Numbers, ids: Numbers, columns: Columns) -> None:
        self._pending.append((panes, ids, columns))
        self._pending_records += len(panes)
        if self._pending_records >= _WORTH_COMBINING:
            self._combine_pending()

    @property
    def partials_codec(self) -> PartialsCodec:
        """The columns of what `process_partials` takes."""
        return PartialsCodec(self._aggregates, has_records=self._aggregates.records_place == self._aggregates.number)

    def process_partials(self, batch: Batch) -> int:
        """Adds what a `PaneCombiner` made of records; returns how many records there were."""
        keys = batch.dictionary_keys
        assert keys is not None
        starts, *parts = batch.columns
        records = parts[self._aggregates.records_place].to_numpy()
        parts, codes, panes = parts[: self._aggregates.number], keys.codes, self._panes_of_partials(starts.to_numpy())
        late = self._late(panes)
        if late is not None:
            self._dropped.inc(int(records[late].sum()))
            kept = pa.array(np.flatnonzero(~late))
            parts, codes, panes = [each.take(kept) for each in parts], codes[~late], panes[~late]
        if len(panes):
            parts = self._aggregates.in_order(parts, self._next_in_order)
            self._next_in_order += len(panes)
            self._take(panes, self._panes.keys.of(keys.distinct)[codes], parts)
        return int(records.sum())

    def advance_watermark(self, watermark: int) -> int:
        """Fires the windows that event time has passed."""
        self._combine_pending()
        self.current_watermark = watermark
        for place in sorted(place for place in self._open_windows if place[0] <= watermark):
            self._fire(self._open_windows.pop(place))
        return watermark

    def end_epoch(self) -> None:
        """Writes panes to the store."""
        self._combine_pending()
        with self._computing():
            self._panes.flush()
        self._remove_record_windows()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        self._panes.drop()
        self._pending, self._pending_records = [], 0
        self._is_loaded = False

    # --- records

    def _panes_of(self, batch: Batch) -> Numbers:
        """Where the pane of each record begins."""
        times = self._times_of(batch)
        least, greatest = int(times.min()), int(times.max())
        width, offset = self._assigner.bucket_width, self._assigner.bucket_offset(self._assigner_context)
        if least > -_FAR_TIME and greatest < _FAR_TIME:
            return times - (times - offset) % width
        return np.array([time - (time - offset) % width for time in times.tolist()], np.int64)

    def _order_of(self, batch: Batch) -> Numbers | None:
        """Which records come before which: as they arrive; in batch execution by their times, as if sorted."""
        if not self._aggregates.is_ordered:
            return None
        if not self._context.batch:
            first = self._next_in_order
            self._next_in_order += len(batch)
            return np.arange(first, self._next_in_order)
        stamps = batch.timestamp_column
        if stamps is None:
            return np.full(len(batch), MIN_TIMESTAMP)
        return pc.fill_null(stamps, MIN_TIMESTAMP).to_numpy()

    def _panes_of_partials(self, starts: Numbers) -> Numbers:
        """Where the pane of each partial aggregate begins."""
        return starts

    def _late(self, panes: Numbers) -> Mask | None:
        """Which records belong to no window that has not fired; None where there is no such record."""
        watermark = self.current_watermark
        starts = _distinct(panes, self._assigner.bucket_width)
        closed = [start for start in starts if start not in self._panes and not self._is_open(start, watermark)]
        return np.isin(panes, closed) if closed else None

    def _is_open(self, pane: int, watermark: int) -> bool:
        return any(window.max_timestamp() > watermark for window in self._windows_of(pane))

    def _windows_of(self, pane: int) -> list[TimeWindow]:
        return self._assigner.windows_at(pane, self._assigner_context)

    def _combine_pending(self) -> None:
        """Makes partial aggregates of records, and adds them to their panes."""
        if not self._pending:
            return
        pending, self._pending, self._pending_records = self._pending, [], 0
        if self._aggregates.is_folded:
            pending = [*self._taken_out(pending), *pending]
        panes = np.concatenate([each for each, _, _ in pending])
        ids = np.concatenate([each for _, each, _ in pending])
        columns = [pa.concat_arrays(each) for each in zip(*(columns for _, _, columns in pending), strict=True)]
        # Pane and key in one number: kernels group by one column faster than by two.
        first, width, keys = int(panes.min()), self._assigner.bucket_width, len(self._panes.keys)
        if int(panes.max()) - first < _FAR_TIME // max(keys, 1):
            self._add((panes - first) // width * keys + ids, columns, first, keys)
            return
        for start in _distinct(panes, width):
            chosen = np.flatnonzero(panes == start)
            self._add(ids[chosen], [column.take(pa.array(chosen)) for column in columns], start, keys)

    def _taken_out(self, pending: list[_Records]) -> Iterator[_Records]:
        """What is in the panes of some records already: these are added to it one after the other."""
        for start in np.unique(np.concatenate([panes for panes, _, _ in pending])).tolist():
            before = self._panes.take(start)
            if before is not None:
                yield np.full(len(before[0]), start, np.int64), *before

    def _add(self, places: Numbers, columns: Columns, first: int, keys: int) -> None:
        """Adds records, whose places are their pane, counted from the first, times the number of keys, plus the key."""
        with self._computing():
            groups, made = self._aggregates.combined(pa.array(places), columns)
        panes, ids = groups // keys, groups % keys
        starts = np.unique(panes).tolist()
        for number in starts:
            start = first + number * self._assigner.bucket_width
            if len(starts) == 1:
                self._add_to_pane(start, ids, made)
                continue
            chosen = np.flatnonzero(panes == number)
            taken = pa.array(chosen)
            self._add_to_pane(start, ids[chosen], [column.take(taken) for column in made])

    def _add_to_pane(self, start: int, ids: Numbers, columns: Columns) -> None:
        if start not in self._panes:
            self._learn(start)
        self._panes.add(start, ids, columns)

    def _learn(self, pane: int) -> None:
        """A new pane: its windows are open unless they have fired."""
        for window in self._windows_of(pane):
            if window.max_timestamp() > self.current_watermark:
                self._open_windows[_place_of(window)] = window

    # --- windows

    def _fire(self, window: TimeWindow) -> None:
        """Sends the results of a window on; panes that no other window needs go."""
        # Where time ends there is one window without a millisecond of its own.
        starts = [pane for pane in self._panes if window.start <= pane < max(window.end, window.start + 1)]
        with self._computing():
            ids, columns = self._panes.combined(sorted(starts))
            keys = self._key_columns.of(self._panes.keys, ids)
            stamps = pa.array(np.full(len(ids), window.max_timestamp(), np.int64))
            batch = self._aggregates.batch(self._output_codec, keys, columns, window.start, window.end, stamps)
        for pane in starts:
            if not any(_place_of(each) in self._open_windows for each in self._windows_of(pane)):
                self._panes.remove(pane)
        self._context.output.emit(batch)


def _place_of(window: TimeWindow) -> _Place:
    return window.max_timestamp(), window.start


class _AssignerContext(WindowAssigner.WindowAssignerContext):
    """What assigners ask that know time alone."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._runtime_context = OperatorRuntimeContext(context)

    def get_current_processing_time(self) -> int:
        """The processing time of the epoch."""
        return self._context.processing_time

    def get_runtime_context(self) -> RuntimeContext:
        """Where the assigner runs."""
        return self._runtime_context


def _distinct(panes: Numbers, width: int) -> list[int]:
    """The starts of panes, each once."""
    first = int(panes.min())
    number = (int(panes.max()) - first) // width + 1
    if number > _MOST_PANES:
        return np.unique(panes).tolist()
    # By counting: sorting all records to find a few panes would cost more than the rest.
    places = np.flatnonzero(np.bincount((panes - first) // width, minlength=number))
    return (places * width + first).tolist()
