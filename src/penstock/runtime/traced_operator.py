"""The operators of traced functions: columns in, columns out, and the function itself where columns do not suffice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.formed_batch import FormedBatch
from penstock.common.typeinfo import TypeInformation
from penstock.runtime.operator import OperatorContext
from penstock.runtime.stateless import FilterOperator, MapOperator
from penstock.tracing import NotTraceable, trace_filter, trace_map

T = TypeVar("T")
_PATIENCE = 3
_LONGEST_PAUSE = 64


class _OverColumns(Generic[T]):
    """What a traced function computes of a batch; batches like those that failed lately are likely to fail again."""

    def __init__(self, compute: Callable[[list[pa.Array], int], T] | None, input_type: TypeInformation) -> None:
        self._compute = compute
        self._input_codec = codec_for(input_type)
        self._failures = 0
        self._pause = 0

    def of(self, batch: Batch) -> T | None:
        """The result; None where the function itself has to be called."""
        columns = None if self._compute is None or not len(batch) else batch.columns_of(self._input_codec)
        if self._compute is None or columns is None:
            return None
        if self._pause:
            self._pause -= 1
            return None
        try:
            result = self._compute(columns, len(batch))
        except Exception:
            self._failures += 1
            if self._failures >= _PATIENCE:
                self._pause = min(_LONGEST_PAUSE, 1 << (self._failures - _PATIENCE))
            return None
        self._failures = 0
        return result


class TracedMapOperator(MapOperator):
    """One result per record, computed over columns."""

    def __init__(
        self, function: Any, output_codec: RecordCodec, input_type: TypeInformation, output_type: TypeInformation | None
    ) -> None:
        super().__init__(function, output_codec)
        self._input_type = input_type
        self._output_type = output_type

    def open(self, context: OperatorContext) -> None:
        """Traces the function as it has come here, with what it captures here."""
        super().open(context)
        try:
            program = trace_map(self._function, self._input_type, self._output_type)
        except NotTraceable:
            program = None
        self._result_codec = None if program is None else codec_for(program.type)
        self._results = _OverColumns(None if program is None else program.columns, self._input_type)

    def process(self, batch: Batch, input_index: int) -> None:
        """Computes the results."""
        results = self._results.of(batch)
        if results is None or self._result_codec is None:
            super().process(batch, input_index)
            return
        if self._output_codec.schema is None:
            computed: Batch = FormedBatch(self._output_codec, self._result_codec, results)
        else:
            computed = Batch(self._output_codec, columns=results)
        self._context.output.emit(computed.with_timestamps(batch.either_timestamps))


class TracedFilterOperator(FilterOperator):
    """The records for which the function says yes, found over columns."""

    def __init__(self, function: Any, output_codec: RecordCodec, input_type: TypeInformation) -> None:
        super().__init__(function, output_codec)
        self._input_type = input_type

    def open(self, context: OperatorContext) -> None:
        """Traces the function as it has come here, with what it captures here."""
        super().open(context)
        try:
            compute = trace_filter(self._function, self._input_type).mask
        except NotTraceable:
            compute = None
        self._mask = _OverColumns(compute, self._input_type)

    def process(self, batch: Batch, input_index: int) -> None:
        """Keeps some of the records."""
        mask = self._mask.of(batch)
        if mask is None:
            super().process(batch, input_index)
            return
        kept = mask.true_count
        if kept == len(batch):
            self._context.output.emit(batch.with_timestamps(batch.either_timestamps))
        elif kept:
            self._context.output.emit(batch.filtered(mask))
