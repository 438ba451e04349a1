"""What operators have in common that compute windows in columns."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.common.batch import Batch, RecordCodec
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.errors import StateError
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.runtime.columnar_windows.key_columns import KeyColumns
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.partial_rows import partial_rows
from penstock.runtime.columnar_windows.record_state import (
    RecordWindows,
    declare_record_windows,
    record_windows,
    remove_record_windows,
)
from penstock.runtime.failures import user_function_error
from penstock.runtime.metrics import LATE_RECORDS_DROPPED
from penstock.runtime.operator import Operator, OperatorContext
from penstock.windows.assigner import require_timestamp
from penstock.windows.definition import WindowDefinition

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class ColumnarOperator(Operator):
    """Adds all records of an epoch to windows at once.

    What comes out, and when, is what `WindowOperator` would send; results that come out together are in another order.
    """

    def __init__(
        self,
        definition: WindowDefinition,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        self._definition = definition
        self._output_codec = output_codec
        self._side_output_codecs = side_output_codecs or {}

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        self._context = context
        self._aggregates = partial_rows(self._definition)
        declare_record_windows(context, self._definition)
        self._removes_record_windows = False
        """Whether the store may have windows that were computed record by record, which are here in columns."""
        self._key_columns = KeyColumns(self._definition.aggregation)
        self._dropped = context.metrics.counter(LATE_RECORDS_DROPPED)
        tag = self._definition.late_data_tag
        self._late_tag = None if tag is None or tag.tag_id not in self._side_output_codecs else tag.tag_id

    def _record_windows(self) -> RecordWindows | None:
        """The open windows that an operator has left that worked record by record; None where there are none."""
        found = record_windows(self._context, self._definition, self._aggregates, self.current_watermark)
        # Where all of them were purged, their timers are left.
        self._removes_record_windows = True
        return found if found is not None and found.keys else None

    def _remove_record_windows(self) -> None:
        if self._removes_record_windows:
            remove_record_windows(self._context)
            self._removes_record_windows = False

    def _keys_of(self, batch: Batch) -> DictionaryKeys:
        keys = batch.dictionary_keys
        if keys is None:
            raise StateError(f"operator '{self._context.name}' is keyed, but records without keys came to it")
        return keys

    def _times_of(self, batch: Batch) -> Numbers:
        """The times of the records, which all must have."""
        column = batch.timestamp_column
        if column is None or column.null_count:
            place = 0 if column is None else int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise self._without_timestamp(batch, place)
        times = column.to_numpy()
        if int(times.min()) <= MIN_TIMESTAMP:
            raise self._without_timestamp(batch, int(times.argmin()))
        return times

    def _without_timestamp(self, batch: Batch, place: int) -> Exception:
        try:
            require_timestamp(None, self._definition.assigner)
        except Exception as error:
            return self._failure(error, batch, place)
        raise AssertionError

    def _skip(self, batch: Batch, late: Mask) -> None:
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

    @contextmanager
    def _computing(self) -> Generator[None]:
        """What goes wrong with values is the program's."""
        try:
            yield
        except RecordEvaluationError as failure:
            raise user_function_error(failure.cause, self._context) from failure.cause
        except (OverflowError, TypeError) as error:
            raise user_function_error(error, self._context) from error

    def _failure(self, error: Exception, batch: Batch, place: int) -> Exception:
        key = None if batch.keys is None else batch.keys[place]
        return user_function_error(error, self._context, key=key, record=batch.values[place])
