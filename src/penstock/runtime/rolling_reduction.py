"""The operator behind `reduce` with a function that combines each field by itself, over columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.growing_columns import GrowingColumn
from penstock.common.typeinfo import BasicType, BasicTypeInfo, CompositeTypeInfo, TypeInformation
from penstock.runtime.keyed_reduce import KeyedReduceOperator
from penstock.runtime.operator import OperatorContext
from penstock.runtime.segments import Segments
from penstock.state.handle import DEFAULT_CACHE_LIMIT
from penstock.windows.field_reduction import FieldCombination, FieldReduction

Integers = np.ndarray[Any, np.dtype[np.int64]]

_KEPT = (FieldCombination.SAME, FieldCombination.FIRST)
_LARGEST_SUM = float(1 << 62)
_BEGINNINGS = {
    FieldCombination.SUM: 0,
    FieldCombination.MIN: (1 << 63) - 1,
    FieldCombination.MAX: -(1 << 63),
}
"""What changes nothing: where the field of a key begins before its first record."""
_WIDTHS = {BasicType.INT: 32, BasicType.LONG: 64}


def can_roll(reduction: FieldReduction, codec: RecordCodec) -> bool:
    """Whether columns say what the function says: sums, least and greatest values of integers, and what came first."""
    if not isinstance(reduction.record_type, CompositeTypeInfo) or codec.schema is None:
        return False
    pairs = zip(reduction.fields, reduction.types, strict=True)
    return all(combination in _KEPT or _is_wide(combination, values) for combination, values in pairs)


def _is_wide(combination: FieldCombination, values: TypeInformation) -> bool:
    return combination in _BEGINNINGS and isinstance(values, BasicTypeInfo) and values.basic_type in _WIDTHS


class _UnsuitableError(Exception):
    """Values that only Python can combine: None, or sums beyond 64 bits."""


class RollingReductionOperator(KeyedReduceOperator):
    """Sends the combination so far after every record, as the operator of any other function does.

    State is what that one keeps. Where columns cannot say what Python says, the function is called for the records of
    that batch. So it is in batch execution.
    """

    def __init__(self, function: object, reduction: FieldReduction, output_codec: RecordCodec) -> None:
        super().__init__(function, reduction.record_type, output_codec)
        self._combinations = reduction.fields

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        super().open(context)
        self._stored = self._state.get_columnar_state(self._descriptor, lambda keys: (keys, None))
        self._forget()

    def process(self, batch: Batch, input_index: int) -> None:
        """Adds each record to the combination of its key."""
        if self._context.batch or not batch.was_made_of_columns:
            self._process_one_by_one(batch, input_index)
            return
        if not len(batch):
            return
        self._keys_of(batch)
        keys = batch.dictionary_keys
        assert keys is not None
        try:
            self._process_columns(batch, keys)
        except _UnsuitableError:
            self._process_one_by_one(batch, input_index)

    def end_epoch(self) -> None:
        """Writes state to the store."""
        super().end_epoch()
        self._write()
        if len(self._keys) > DEFAULT_CACHE_LIMIT:
            self._forget()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        super().drop_caches()
        self._forget()

    def _process_one_by_one(self, batch: Batch, input_index: int) -> None:
        if self._context.batch:
            super().process(batch, input_index)
            return
        self._write()
        self._forget()
        super().process(batch, input_index)
        self._reduced.flush()
        self._reduced.drop_caches()

    def _process_columns(self, batch: Batch, keys: DictionaryKeys) -> None:
        places = self._places_of(keys, batch)
        of_records = places[keys.codes]
        segments = Segments(of_records)
        rolled: dict[int, tuple[Integers, Integers]] = {}
        for field, known in self._numbers.items():
            rolled[field] = self._rolled(field, batch.columns[field], segments, known[segments.keys])
        # Nothing has been changed so far: what fails above is left to the function.
        columns: list[pa.Array] = []
        taken = pa.array(of_records)
        for field, column in enumerate(batch.columns):
            if field in rolled:
                results, last = rolled[field]
                self._numbers[field][segments.keys] = last
                columns.append(pa.array(results).cast(column.type))
            else:
                columns.append(self._first_values[field].at(taken))
        self._changed.append(places)
        self._context.output.emit(Batch(self._output_codec, columns=columns, timestamps=batch.either_timestamps))

    def _rolled(self, field: int, column: pa.Array, segments: Segments, before: Integers) -> tuple[Integers, Integers]:
        """What has become of a field after each record, and in the end of each key."""
        if column.null_count:
            raise _UnsuitableError
        values = column.to_numpy().astype(np.int64)
        combination = self._combinations[field]
        if combination is not FieldCombination.SUM:
            return segments.extremes(values, before, np.minimum if combination is FieldCombination.MIN else np.maximum)
        largest = float(np.abs(values.astype(np.float64)).sum() + np.abs(before.astype(np.float64)).max())
        if largest > _LARGEST_SUM:
            raise _UnsuitableError
        results, last = segments.sums(values, before)
        limit = 1 << (column.type.bit_width - 1)
        if results.min() < -limit or results.max() > limit - 1:
            raise _UnsuitableError
        return results, last

    # --- what is known of keys, by place

    def _forget(self) -> None:
        self._keys: list[bytes] = []
        self._place_of: dict[bytes, int] = {}
        schema = self._output_codec.schema
        assert schema is not None
        self._first_values = {
            field: GrowingColumn(schema.field(field).type)
            for field, combination in enumerate(self._combinations)
            if combination in _KEPT
        }
        self._numbers: dict[int, Integers] = {
            field: np.empty(0, np.int64)
            for field, combination in enumerate(self._combinations)
            if combination not in _KEPT
        }
        self._changed: list[Integers] = []

    def _places_of(self, keys: DictionaryKeys, batch: Batch) -> Integers:
        known = self._place_of
        new = [number for number, key in enumerate(keys.distinct) if key not in known]
        if new:
            self._learn(new, keys, batch)
        return np.array([known[key] for key in keys.distinct], np.int64)

    def _learn(self, new: list[int], keys: DictionaryKeys, batch: Batch) -> None:
        """Keys that are not in memory: what they have is in the store, or begins with these records."""
        new_keys = [keys.distinct[number] for number in new]
        stored = self._stored.get_many(new_keys)
        is_stored = stored.is_valid().to_numpy(zero_copy_only=False)
        fields = stored.flatten()
        if any(fields[field].null_count != stored.null_count for field in self._numbers):
            raise _UnsuitableError
        fresh = pa.array(keys.first_rows()[new])
        for field, values in self._first_values.items():
            begins = batch.columns[field].take(fresh)
            if is_stored.any():
                both = pa.concat_arrays([fields[field], begins])
                places = np.arange(len(new)) + np.where(is_stored, 0, len(new))
                begins = both.take(pa.array(places))
            values.add(begins)
        for field, values in self._numbers.items():
            beginning = _BEGINNINGS[self._combinations[field]]
            before = fields[field].cast(pa.int64()).fill_null(beginning).to_numpy()
            self._numbers[field] = np.concatenate([values, before])
        first = len(self._keys)
        self._keys += new_keys
        self._place_of.update(zip(new_keys, range(first, len(self._keys)), strict=True))

    def _write(self) -> None:
        if not self._changed:
            return
        schema = self._output_codec.schema
        assert schema is not None
        places = np.unique(np.concatenate(self._changed))
        self._changed.clear()
        taken = pa.array(places)
        columns = [
            self._first_values[field].at(taken)
            if field in self._first_values
            else pa.array(self._numbers[field][places]).cast(schema.field(field).type)
            for field in range(len(schema))
        ]
        struct = pa.StructArray.from_arrays(columns, fields=list(schema))
        self._stored.put_many([self._keys[place] for place in places.tolist()], struct)
