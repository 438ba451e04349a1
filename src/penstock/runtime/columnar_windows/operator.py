"""The operator behind windows of event time whose aggregates are declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import StateError
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.functions.function import RuntimeContext
from penstock.runtime.columnar_windows.key_columns import KeyColumns
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.pane_combiner import PartialsCodec
from penstock.runtime.columnar_windows.panes import Panes
from penstock.runtime.columnar_windows.partial_aggregates import Columns, PartialAggregates
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import Operator, OperatorContext
from penstock.runtime.runtime_context import OperatorRuntimeContext
from penstock.runtime.window_operator import LATE_RECORDS_DROPPED
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner, require_timestamp
from penstock.windows.definition import WindowDefinition
from penstock.windows.window import TimeWindow

_WORTH_COMBINING = 1 << 18
"""Records that wait to be combined: enough to make the calls of kernels cheap, few enough to fit into caches."""
_FAR_TIME = 1 << 62
_MOST_PANES = 1 << 12


class ColumnarWindowOperator(Operator):
    """Adds records to panes and makes windows of panes, for all keys at once.

    What comes out, and when, is what `WindowOperator` would send; results that come out together are in another order.
    """

    def __init__(
        self,
        definition: WindowDefinition,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        assert definition.aggregation is not None
        assert isinstance(definition.assigner, AlignedWindowAssigner)
        self._definition = definition
        self._aggregation = definition.aggregation
        self._assigner = definition.assigner
        self._output_codec = output_codec
        self._side_output_codecs = side_output_codecs or {}

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        self._context = context
        self._aggregates = PartialAggregates(self._aggregation)
        self._panes = Panes(context, self._aggregates)
        self._is_loaded = False
        self._assigner_context = _AssignerContext(context)
        self._key_columns = KeyColumns(self._aggregation)
        self._open_windows: dict[int, TimeWindow] = {}
        """Windows that have not fired, by their last millisecond."""
        self._pending: list[tuple[Numbers, Numbers, Columns]] = []
        """Records that are not in panes yet: the starts of their panes, their keys, themselves."""
        self._pending_records = 0
        self._dropped = context.metrics.counter(LATE_RECORDS_DROPPED)
        tag = self._definition.late_data_tag
        self._late_tag = None if tag is None or tag.tag_id not in self._side_output_codecs else tag.tag_id

    def begin_epoch(self) -> None:
        """Reads the panes, where another process has worked on them."""
        if not self._is_loaded:
            self._panes.load()
            self._open_windows = {}
            for pane in self._panes:
                self._learn(pane)
            self._is_loaded = True

    def process(self, batch: Batch, input_index: int) -> None:
        """Adds records to their panes."""
        if len(batch) == 0:
            return
        keys = batch.dictionary_keys
        if keys is None:
            raise StateError(f"operator '{self._context.name}' is keyed, but records without keys came to it")
        panes = self._panes_of(batch)
        columns, codes = batch.columns, keys.codes
        late = self._late(panes)
        if late is not None:
            self._skip(batch, late)
            kept = pa.array(np.flatnonzero(~late))
            if len(kept) == 0:
                return
            columns, codes, panes = [each.take(kept) for each in columns], codes[~late], panes[~late]
        try:
            made = self._aggregates.of_records(columns, len(panes))
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
            self._take(panes, self._panes.keys.of(keys.distinct)[codes], parts)
        return int(records.sum())

    def advance_watermark(self, watermark: int) -> int:
        """Fires the windows that event time has passed."""
        self._combine_pending()
        self.current_watermark = watermark
        for last in sorted(last for last in self._open_windows if last <= watermark):
            self._fire(self._open_windows.pop(last))
        return watermark

    def end_epoch(self) -> None:
        """Writes panes to the store."""
        self._combine_pending()
        self._panes.flush()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        self._panes.drop()
        self._pending, self._pending_records = [], 0
        self._is_loaded = False

    # --- records

    def _panes_of(self, batch: Batch) -> Numbers:
        """Where the pane of each record begins."""
        column = batch.timestamp_column
        if column is None or column.null_count:
            place = 0 if column is None else int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise self._without_timestamp(batch, place)
        times = column.to_numpy()
        least, greatest = int(times.min()), int(times.max())
        if least <= MIN_TIMESTAMP:
            raise self._without_timestamp(batch, int(times.argmin()))
        width, offset = self._assigner.bucket_width, self._assigner.bucket_offset(self._assigner_context)
        if least > -_FAR_TIME and greatest < _FAR_TIME:
            return times - (times - offset) % width
        return np.array([time - (time - offset) % width for time in times.tolist()], np.int64)

    def _panes_of_partials(self, starts: Numbers) -> Numbers:
        """Where the pane of each partial aggregate begins."""
        return starts

    def _without_timestamp(self, batch: Batch, place: int) -> Exception:
        try:
            require_timestamp(None, self._assigner)
        except Exception as error:
            return self._failure(error, batch, place)
        raise AssertionError

    def _late(self, panes: Numbers) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """Which records belong to no window that has not fired; None where there is no such record."""
        watermark = self.current_watermark
        starts = _distinct(panes, self._assigner.bucket_width)
        closed = [start for start in starts if start not in self._panes and not self._is_open(start, watermark)]
        return np.isin(panes, closed) if closed else None

    def _is_open(self, pane: int, watermark: int) -> bool:
        return any(window.max_timestamp() > watermark for window in self._windows_of(pane))

    def _windows_of(self, pane: int) -> list[TimeWindow]:
        return self._assigner.windows_at(pane, self._assigner_context)

    def _skip(self, batch: Batch, late: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        """Records that no open window takes: late ones go to the side output, or are counted."""
        stamps = batch.timestamps or []
        places = [int(place) for place in np.flatnonzero(late) if (stamps[place] or 0) <= self.current_watermark]
        if self._late_tag is None:
            self._dropped.inc(len(places))
        elif places:
            values = [batch.values[place] for place in places]
            codec = self._side_output_codecs[self._late_tag]
            kept = Batch(codec, values=values, timestamps=[stamps[place] for place in places])
            self._context.output.emit_side(self._late_tag, kept)

    def _combine_pending(self) -> None:
        """Makes partial aggregates of records, and adds them to their panes."""
        if not self._pending:
            return
        pending, self._pending, self._pending_records = self._pending, [], 0
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

    def _add(self, places: Numbers, columns: Columns, first: int, keys: int) -> None:
        """Adds records, whose places are their pane, counted from the first, times the number of keys, plus the key."""
        try:
            groups, made = self._aggregates.combined(pa.array(places), columns)
        except OverflowError as error:
            raise user_function_error(error, self._context) from error
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
                self._open_windows[window.max_timestamp()] = window

    # --- windows

    def _fire(self, window: TimeWindow) -> None:
        """Sends the results of a window on; panes that no other window needs go."""
        starts = [pane for pane in self._panes if window.start <= pane < window.end]
        try:
            ids, columns = self._panes.combined(sorted(starts))
        except OverflowError as error:
            raise user_function_error(error, self._context) from error
        keys = self._key_columns.of(self._panes.keys, ids)
        results = self._aggregates.results(columns, len(ids), window.start, window.end)
        stamps = pa.array(np.full(len(ids), window.max_timestamp(), np.int64))
        batch = Batch(self._output_codec, columns=[*keys, *results], timestamps=stamps)
        for pane in starts:
            if not self._is_open(pane, window.max_timestamp()):
                self._panes.remove(pane)
        self._context.output.emit(batch)

    def _failure(self, error: Exception, batch: Batch, place: int) -> Exception:
        key = None if batch.keys is None else batch.keys[place]
        return user_function_error(error, self._context, key=key, record=batch.values[place])


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
