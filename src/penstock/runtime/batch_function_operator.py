"""Operators around a user function of whole batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import EventTimeError
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.functions.batches import BatchFormat
from penstock.runtime.batch_forms import GivenBatches, TakenBatches, batches_in, is_one_batch
from penstock.runtime.failures import safe_repr, user_function_error
from penstock.runtime.function_operator import FunctionOperator

_STILL = object()
_SHOWN = 200
"""Characters of a record in a report."""


class BatchFunctionOperator(FunctionOperator):
    """Calls a function with a batch of records, and sends on the batches that it gives."""

    def __init__(
        self,
        function: Any,
        batch_format: BatchFormat,
        input_type: TypeInformation,
        output_type: TypeInformation,
        timestamp_column: str | None,
    ) -> None:
        super().__init__(function, codec_for(output_type))
        self._call = function
        self._given = GivenBatches(input_type, batch_format, timestamp_column)
        self._taken = TakenBatches(output_type, timestamp_column)
        self._timestamp_column = timestamp_column

    def _run(self, batch: Batch, *arguments: Any) -> None:
        """Calls the function for the records of a batch."""
        if not len(batch):
            return
        try:
            returned = self._call(self._given.of(self._columns(batch)), *arguments)
            results = batches_in(returned)
            keeps_rows = is_one_batch(returned)
        except Exception as error:
            raise self._failure(error, batch) from error
        while True:
            try:
                result = next(results, _STILL)
                if result is _STILL:
                    return
                columns, stamps = self._taken.columns_of(result)
                count = len(columns[0])
                timestamps = self._timestamps(batch, count, stamps, keeps_rows=keeps_rows)
            except Exception as error:
                raise self._failure(error, batch) from error
            if count:
                self._context.output.emit(Batch(self._output_codec, columns=columns, timestamps=timestamps))

    def _columns(self, batch: Batch) -> list[pa.Array]:
        if self._timestamp_column is None:
            return batch.columns
        stamps = batch.timestamp_column
        return [*batch.columns, pa.nulls(len(batch), pa.int64()) if stamps is None else stamps]

    def _timestamps(self, batch: Batch, count: int, stamps: pa.Array | None, *, keeps_rows: bool) -> Any:
        """The times of the results. Nothing is guessed: a record with another's time would be in a wrong window."""
        given = batch.timestamp_column
        if self._timestamp_column is not None:
            assert stamps is not None
            self._check_times(stamps, given)
            return None if stamps.null_count == count else stamps
        if given is None or (keeps_rows and count == len(batch)):
            return batch.either_timestamps
        if given.null_count == 0 and pc.min(given).as_py() == pc.max(given).as_py():
            return pa.repeat(given[0], count)
        raise EventTimeError(
            f"the function made {count} rows of {len(batch)} records with timestamps, and it is not known which time "
            f'each of them has. Pass `timestamp_column="..."`: the batch then has a column of that name with the '
            "times, in ms, and the batches that the function gives must have it, too"
        )

    def _check_times(self, stamps: pa.Array, given: pa.Array | None) -> None:
        earliest = None if given is None else pc.min(given).as_py()
        found = pc.min(stamps).as_py()
        if found is not None and (earliest is None or found < earliest):
            known = "the records have none" if earliest is None else f"the earliest record has {earliest}"
            raise EventTimeError(
                f"a row has the time {found} in the column {self._timestamp_column!r}, and {known}: event time may "
                "have passed it. Give rows times of records that they are made of, or later ones"
            )

    def _failure(self, error: Exception, batch: Batch) -> Exception:
        return user_function_error(error, self._context, watermark=self.current_watermark, record=_Shown(batch))


class _Shown:
    """A batch in the report of a failure: which of its records it was, only the function could tell."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __repr__(self) -> str:
        values = self._batch.values
        if len(values) == 1:
            return repr(values[0])
        return f"one of {len(values)}, from {safe_repr(values[0], _SHOWN)} to {safe_repr(values[-1], _SHOWN)}"


class MapBatchesOperator(BatchFunctionOperator):
    """The operator behind `map_batches`."""

    def process(self, batch: Batch, input_index: int) -> None:
        """Calls the function with the batch as it comes."""
        self._run(batch)
