"""The operator behind `KeyedStream.process_batches`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.errors import StateError, UnsupportedError
from penstock.common.typeinfo import TypeInformation
from penstock.functions.batches import BatchFormat, KeyedBatchContext
from penstock.runtime.batch_function_operator import BatchFunctionOperator
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import OperatorContext
from penstock.runtime.runtime_context import OperatorRuntimeContext
from penstock.state.columnar_keys import ColumnarKeys
from penstock.state.columnar_values import ColumnarValueState, EncodedKeys
from penstock.state.descriptors import ValueStateDescriptor
from penstock.state.keyed import KeyedStateBackend
from penstock.state.tuple_keys import has_tuple_columns

_MOST_ROWS = 1 << 18
"""Records that wait at most: kernels gain nothing from more, and in batch execution an epoch has no end."""


class KeyedBatchOperator(BatchFunctionOperator):
    """Gathers records until event time moves on or the epoch ends, and calls the function with all of them."""

    def __init__(
        self,
        function: Any,
        batch_format: BatchFormat,
        input_type: TypeInformation,
        output_type: TypeInformation,
        timestamp_column: str | None,
        key_type: TypeInformation | None,
        key_places: Sequence[int] = (),
    ) -> None:
        super().__init__(function, batch_format, input_type, output_type, timestamp_column)
        self._sides = [(self._given, codec_for(input_type), self._call)]
        """What each input's records are handed over as, their codec, and what is called with them."""
        self._key_type = key_type
        self._key_places = key_places

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._context = context
        self._state = KeyedStateBackend(
            context.store, context.uid, context.max_parallelism, clock=lambda: context.processing_time
        )
        self._keys = ColumnarKeys(self._key_type, context.subtask, context.parallelism, context.max_parallelism)
        places = self._key_places if has_tuple_columns(self._key_type) else ()
        self._batch_context = _BatchContext(self, self._state, self._keys, places)
        self._forget_pending()
        self._open_function(self._state)

    @property
    def processing_time(self) -> int:
        """The processing time of the epoch."""
        return self._context.processing_time

    def process(self, batch: Batch, input_index: int) -> None:
        """Keeps records until there are enough."""
        if batch.dictionary_keys is None:
            raise StateError(f"operator '{self._context.name}' is keyed, but records without keys came to it")
        if len(batch):
            self._pending[input_index].append(batch)
            self._pending_rows += len(batch)
            if self._pending_rows >= _MOST_ROWS:
                self._drain()

    def advance_watermark(self, watermark: int) -> int:
        """Sends on the results of all records before the watermark, then the watermark."""
        self._drain()
        return super().advance_watermark(watermark)

    def inputs_fall_idle(self) -> None:
        """Sends on all results: a consumer does not wait for an idle input, they would come too late."""
        self._drain()

    def advance_processing_time(self, now: int) -> None:
        """Calls the function with what waits: the epoch has no more records, and functions save their state next."""
        self._drain()

    def finish(self) -> None:
        """Calls the function with what waits."""
        self._drain()

    def end_epoch(self) -> None:
        """Calls the function with what waits; all state is in the store then."""
        self._drain()
        self._flush(self._state)

    def drop_caches(self) -> None:
        """Forgets records that wait; state is read from the store every time."""
        self._forget_pending()
        self._state.drop_caches()

    def _open_function(self, keyed_state: KeyedStateBackend | None) -> None:
        runtime_context = _BatchRuntimeContext(self._context, self._batch_context)
        self._initialize_function(self._function, runtime_context)
        if hasattr(self._function, "open"):
            try:
                self._function.open(runtime_context)
            except Exception as error:
                raise user_function_error(error, self._context) from error

    def _drain(self) -> None:
        pending = self._pending
        self._forget_pending()
        for (given, codec, call), batches in zip(self._sides, pending, strict=True):
            if batches:
                self._given, self._call = given, call
                batch, keys = _gathered(codec, batches)
                self._batch_context.begin(batch, keys)
                self._run(batch, self._batch_context)

    def _forget_pending(self) -> None:
        self._pending: list[list[Batch]] = [[] for _ in self._sides]
        """Records that wait, of each input."""
        self._pending_rows = 0


def _gathered(codec: RecordCodec, batches: list[Batch]) -> tuple[Batch, DictionaryKeys]:
    """The records of several batches as one, and their keys."""
    places: dict[bytes, int] = {}
    codes: list[Any] = []
    for batch in batches:
        keys = batch.dictionary_keys
        assert keys is not None
        numbers = np.array([places.setdefault(key, len(places)) for key in keys.distinct], np.int32)
        codes.append(numbers[keys.codes])
    code_of_rows = np.concatenate(codes)
    # The function gets them: were they changed, state would be that of other keys.
    code_of_rows.setflags(write=False)
    gathered = DictionaryKeys(code_of_rows, list(places))
    if len(batches) == 1:
        return batches[0], gathered
    columns = [pa.concat_arrays(parts) for parts in zip(*(batch.columns for batch in batches), strict=True)]
    stamps: pa.Array | None = None
    if any(batch.timestamp_column is not None for batch in batches):
        stamps = pa.concat_arrays([_times(batch) for batch in batches])
    return Batch(codec, columns=columns, timestamps=stamps), gathered


def _times(batch: Batch) -> pa.Array:
    stamps = batch.timestamp_column
    return pa.nulls(len(batch), pa.int64()) if stamps is None else stamps


class _BatchContext(KeyedBatchContext):
    """One object per operator, set anew for each call."""

    def __init__(
        self, operator: KeyedBatchOperator, state: KeyedStateBackend, keys: ColumnarKeys, key_places: Sequence[int]
    ) -> None:
        self._operator = operator
        self._key_places = key_places
        """Where the parts of keys are among the columns of records; none where keys have to be decoded."""
        self._state = state
        self._columnar_keys = keys
        self._states: dict[str, ColumnarValueState] = {}
        self._batch: Batch | None = None
        self._encoded = DictionaryKeys(np.empty(0, np.int32), [])
        # What was decoded is kept: state knows these very objects again, and need not encode them.
        self._keys: pa.Array | list[Any] | None = None
        self._distinct_keys: pa.Array | list[Any] | None = None
        self._decoded: list[Any] = []
        """The distinct keys where they are a list: the function has another, and may change it."""

    def begin(self, batch: Batch, keys: DictionaryKeys) -> None:
        """Another batch."""
        self._batch = batch
        self._encoded = keys
        self._keys = self._distinct_keys = None

    @property
    def keys(self) -> pa.Array | list[Any]:
        """The key of each row."""
        if self._keys is None:
            distinct = self.distinct_keys
            if isinstance(distinct, list):
                self._keys = self._listed_keys()
            else:
                self._keys = distinct.take(pa.array(self._encoded.codes))
        return self._keys

    @property
    def distinct_keys(self) -> pa.Array | list[Any]:
        """Each key once."""
        if self._distinct_keys is None:
            if self._key_places:
                self._distinct_keys = self._keys_in_columns()
            else:
                self._distinct_keys = self._columnar_keys.decode(self._encoded.distinct)
            if isinstance(self._distinct_keys, list):
                self._decoded = list(self._distinct_keys)
        return self._distinct_keys

    def _keys_in_columns(self) -> pa.Array:
        assert self._batch is not None
        rows = pa.array(self._encoded.first_rows())
        parts = [self._batch.columns[place].take(rows) for place in self._key_places]
        return pa.StructArray.from_arrays(parts, names=[f"f{place}" for place in range(len(parts))])

    @property
    def key_codes(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Where the key of each row is among the distinct ones."""
        return self._encoded.codes

    @property
    def timestamps(self) -> pa.Array | None:
        """The event time of each row."""
        return None if self._batch is None else self._batch.timestamp_column

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ColumnarValueState:
        """State that is one value per key."""
        found = self._states.get(state_descriptor.name)
        if found is None:
            found = self._state.get_columnar_state(state_descriptor, self._encode)
            self._states[state_descriptor.name] = found
        return found

    def current_watermark(self) -> int:
        """How far event time has come."""
        return self._operator.current_watermark

    def current_processing_time(self) -> int:
        """The processing time."""
        return self._operator.processing_time

    def _encode(self, keys: Any) -> EncodedKeys:
        if keys is self._distinct_keys and self._is_unchanged(keys, of_rows=False):
            return self._encoded.distinct, None
        if keys is self._keys and self._is_unchanged(keys, of_rows=True):
            return self._encoded.distinct, self._encoded.codes.astype(np.int64)
        return self._columnar_keys.encode(keys)

    def _is_unchanged(self, keys: pa.Array | list[Any], *, of_rows: bool) -> bool:
        """Whether keys are still what the function was given: it may have sorted a list."""
        if not isinstance(keys, list):
            return True
        return keys == (self._listed_keys() if of_rows else self._decoded)

    def _listed_keys(self) -> list[Any]:
        return [self._decoded[code] for code in self._encoded.codes.tolist()]


class _BatchRuntimeContext(OperatorRuntimeContext):
    """What `open` of a function of batches gets: state is that of many keys."""

    def __init__(self, context: OperatorContext, batch_context: _BatchContext) -> None:
        super().__init__(context)
        self._batch_context = batch_context

    def get_state(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, state_descriptor: ValueStateDescriptor
    ) -> ColumnarValueState:
        """State that is one value per key."""
        return self._batch_context.get_state(state_descriptor)

    def _keyed(self) -> KeyedStateBackend:
        raise UnsupportedError(
            f"operator '{self._context.name}' works on batches, which have state of one value per key only: "
            "`get_state(ValueStateDescriptor(...))`"
        )
