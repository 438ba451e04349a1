"""The operator behind `sum`, `min` and `max` over a field of records that have columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.errors import TypeMismatchError
from penstock.common.growing_columns import GrowingColumn
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation, Types
from penstock.functions.field_aggregation import FieldAggregation, FieldReduceFunction
from penstock.runtime.failures import user_function_error
from penstock.runtime.keyed_reduce import KeyedReduceOperator
from penstock.runtime.operator import OperatorContext
from penstock.state.handle import DEFAULT_CACHE_LIMIT

_NOTHING: Any = object()


def reduce_operator(function: object, value_type: TypeInformation | None, codec: RecordCodec) -> KeyedReduceOperator:
    """A new operator for a reduction."""
    if isinstance(function, FieldReduceFunction) and isinstance(value_type, CompositeTypeInfo):
        place = function.place_in(value_type)
        rolls = function.aggregation in _STEPS and codec.schema is not None
        # A FLOAT is kept with more digits than its column has.
        if rolls and place is not None and value_type.get_field_types()[place] != Types.FLOAT():
            return RollingFieldOperator(function, value_type, codec, place)
    return KeyedReduceOperator(function, value_type, codec)


class RollingFieldOperator(KeyedReduceOperator):
    """Makes a Python value of the field alone: the other columns are those of the first record of each key.

    State is what the operator behind `reduce` would keep. In batch execution it does the same as that one.
    """

    def __init__(
        self, function: FieldReduceFunction, value_type: CompositeTypeInfo, output_codec: RecordCodec, place: int
    ) -> None:
        super().__init__(function, value_type, output_codec)
        self._field = place
        self._field_codec = codec_for(value_type.get_field_types()[place])
        self._step = _STEPS[function.aggregation]

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        super().open(context)
        self._forget()

    def process(self, batch: Batch, input_index: int) -> None:
        """Sends, for every record, what has become of the field."""
        if self._context.batch:
            super().process(batch, input_index)
            return
        if not len(batch):
            return
        self._keys_of(batch)
        keys = batch.dictionary_keys
        assert keys is not None
        places = self._places_of(keys, batch)
        self._changed.update(places.tolist())
        of_records = places[keys.codes]
        results = self._rolled(batch, of_records.tolist())
        taken = pa.array(of_records)
        columns = [rows.at(taken) for rows in self._first_rows]
        columns[self._field] = results
        self._context.output.emit(Batch(self._output_codec, columns=columns, timestamps=batch.either_timestamps))

    def end_epoch(self) -> None:
        """Writes state to the store."""
        super().end_epoch()
        if not self._changed:
            return
        places = sorted(self._changed)
        taken = pa.array(places, pa.int64())
        columns = [rows.at(taken) for rows in self._first_rows]
        columns[self._field] = self._field_codec.to_columns([self._values[place] for place in places])[0]
        self._reduced.store_values([self._keys[place] for place in places], self._output_codec.to_values(columns))
        self._changed.clear()
        if len(self._keys) > DEFAULT_CACHE_LIMIT:
            self._forget()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        super().drop_caches()
        self._forget()

    def _forget(self) -> None:
        self._keys: list[bytes] = []
        self._place_of: dict[bytes, int] = {}
        self._values: list[Any] = []
        """What has become of the field, by the place of the key; `_NOTHING` before its first record."""
        assert self._output_codec.schema is not None
        self._first_rows = [GrowingColumn(column.type) for column in self._output_codec.schema]
        """The first record of each key, by its place."""
        self._changed: set[int] = set()

    def _places_of(self, keys: DictionaryKeys, batch: Batch) -> np.ndarray[Any, np.dtype[np.int64]]:
        known = self._place_of
        new = [number for number, key in enumerate(keys.distinct) if key not in known]
        if new:
            self._learn(new, keys, batch)
        return np.array([known[key] for key in keys.distinct], np.int64)

    def _learn(self, new: list[int], keys: DictionaryKeys, batch: Batch) -> None:
        """Keys that are not in memory: their rows are in the store, or are the first of these records."""
        stored = self._reduced.stored_values([keys.distinct[number] for number in new])
        found = [(number, row) for number, row in zip(new, stored, strict=True) if row is not None]
        if found:
            columns = self._output_codec.to_columns([row for _, row in found])
            values = self._field_codec.to_values([columns[self._field]])
            self._add([keys.distinct[number] for number, _ in found], columns, values)
        fresh = [number for number, row in zip(new, stored, strict=True) if row is None]
        if fresh:
            taken = pa.array(keys.first_rows()[fresh])
            columns = [column.take(taken) for column in batch.columns]
            self._add([keys.distinct[number] for number in fresh], columns, [_NOTHING] * len(fresh))

    def _add(self, keys: list[bytes], columns: list[pa.Array], values: Iterable[Any]) -> None:
        first = len(self._keys)
        self._keys += keys
        self._values.extend(values)
        self._place_of.update(zip(keys, range(first, len(self._keys)), strict=True))
        for rows, column in zip(self._first_rows, columns, strict=True):
            rows.add(column)

    def _rolled(self, batch: Batch, places: list[int]) -> pa.Array:
        results: list[Any] = []
        try:
            values = self._field_codec.to_values([batch.columns[self._field]])
            self._step(self._values, places, values, results)
        except Exception as error:
            place = len(results)
            key = self._keys[places[place]]
            raise user_function_error(error, self._context, key=key, record=batch.values[place]) from error
        try:
            return self._field_codec.to_columns(results)[0]
        except TypeMismatchError as error:
            place = error.index or 0
            key = self._keys[places[place]]
            raise user_function_error(error, self._context, key=key, record=batch.values[place]) from error


Step = Callable[[list[Any], list[int], list[Any], list[Any]], None]


def _sum(current: list[Any], places: list[int], values: list[Any], results: list[Any]) -> None:
    add = results.append
    for place, value in zip(places, values, strict=True):
        before = current[place]
        current[place] = result = value if before is _NOTHING else before + value
        add(result)


def _min(current: list[Any], places: list[int], values: list[Any], results: list[Any]) -> None:
    add = results.append
    for place, value in zip(places, values, strict=True):
        before = current[place]
        if before is _NOTHING or value < before:
            current[place] = before = value
        add(before)


def _max(current: list[Any], places: list[int], values: list[Any], results: list[Any]) -> None:
    add = results.append
    for place, value in zip(places, values, strict=True):
        before = current[place]
        if before is _NOTHING or value > before:
            current[place] = before = value
        add(before)


_STEPS: dict[FieldAggregation, Step] = {
    FieldAggregation.SUM: _sum,
    FieldAggregation.MIN: _min,
    FieldAggregation.MAX: _max,
}
