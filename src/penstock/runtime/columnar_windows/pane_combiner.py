"""Partial aggregates of records on their way to their windows: one row for every key and pane, where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.functions.function import RuntimeContext
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.partial_rows import partial_rows
from penstock.runtime.columnar_windows.parts import Columns, PartialRows
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner
from penstock.windows.definition import WindowDefinition

FEWEST_RECORDS = 256
"""A smaller batch is not worth the calls of kernels."""
_MOST_GROUPS_PER_RECORD = 0.25
_FAR_TIME = 1 << 62


class Partials(NamedTuple):
    """Partial aggregates, each of some records of one key in one pane."""

    keys: DictionaryKeys
    columns: Columns
    """The starts of panes, then the columns of the aggregates, with the number of records among them."""


class PartialsCodec:
    """The columns of partial aggregates; nobody sees them as values."""

    def __init__(self, aggregates: PartialRows, *, has_records: bool) -> None:
        number = pa.field("records", pa.int64())
        parts = [pa.field(str(place), part) for place, part in enumerate(aggregates.types[: aggregates.number])]
        self.schema: pa.Schema | None = pa.schema(
            [pa.field("pane", pa.int64()), *parts, *([number] if has_records else [])]
        )

    def to_columns(self, values: Sequence[Any]) -> NoReturn:
        """Not called: they are made as columns."""
        raise NotImplementedError

    def to_values(self, columns: Sequence[pa.Array]) -> NoReturn:
        """Not called."""
        raise NotImplementedError


class PaneCombiner:
    """Combines records of the same key and pane before they are sent.

    Whether a record is late is decided where it arrives, by its pane alone; so no pane is mixed with another, and each
    row knows of how many records it is made.
    """

    def __init__(self, definition: WindowDefinition) -> None:
        assert isinstance(definition.assigner, AlignedWindowAssigner)
        self._aggregates = partial_rows(definition, counts_records=True)
        self._is_event_time = definition.assigner.is_event_time()
        self._width = definition.assigner.bucket_width
        self._offset = definition.assigner.bucket_offset(_NoContext())
        self.codec = PartialsCodec(self._aggregates, has_records=len(self._aggregates.types) > self._aggregates.number)

    def of_records(
        self, columns: Sequence[pa.Array], count: int, stamps: pa.Array | None, keys: DictionaryKeys
    ) -> Partials | None:
        """The partial aggregates of records; None where they would be as many, or a record has no time, or fails."""
        if len(keys.distinct) > _MOST_GROUPS_PER_RECORD * count:
            return None
        panes = self._panes_of(stamps) if self._is_event_time else np.zeros(count, np.int64)
        if panes is None:
            return None
        try:
            rows = self._aggregates.of_records(columns, count, np.arange(count))
        except RecordEvaluationError:
            return None  # a record that fails may be late, and then it fails nothing
        made = self._combined(keys, panes, rows)
        if made is None or len(made.keys.codes) > _MOST_GROUPS_PER_RECORD * count:
            return None
        return made

    def _panes_of(self, stamps: pa.Array | None) -> Numbers | None:
        """Where panes begin, in event time; windows of processing time know it where records arrive."""
        if stamps is None or stamps.null_count:
            return None
        times = stamps.to_numpy()
        if int(times.min()) <= max(MIN_TIMESTAMP, -_FAR_TIME) or int(times.max()) >= _FAR_TIME:
            return None
        return times - (times - self._offset) % self._width

    def merged(self, keys: DictionaryKeys, columns: Columns) -> Partials:
        """The same with every key and pane once, where their sums allow it. Rows come in the order of their records."""
        panes, *parts = columns
        return self._combined(keys, panes.to_numpy(), self._aggregates.in_order(parts)) or Partials(keys, columns)

    def _combined(self, keys: DictionaryKeys, panes: Numbers, parts: Columns) -> Partials | None:
        first, number = int(panes.min()), max(len(keys.distinct), 1)
        if (int(panes.max()) - first) // self._width >= _FAR_TIME // number:
            return None
        places = (panes - first) // self._width * number + keys.codes
        try:
            groups, made = self._aggregates.combined(pa.array(places), parts)
        except (OverflowError, TypeError):
            # The sums of single records may still make one that fits, where all of them meet; and those that
            # cannot be combined may be late.
            return None
        starts = pa.array(first + groups // number * self._width)
        return Partials(DictionaryKeys((groups % number).astype(np.int32), keys.distinct), [starts, *made])


class _NoContext(WindowAssigner.WindowAssignerContext):
    """For windows that depend on the timestamp alone."""

    def get_current_processing_time(self) -> int:
        """Not known to senders."""
        raise NotImplementedError

    def get_runtime_context(self) -> RuntimeContext:
        """Not known to senders."""
        raise NotImplementedError
