"""The operators of traced functions: columns in, columns out, and the function itself where columns do not suffice."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.formed_batch import FormedBatch
from penstock.common.typeinfo import TypeInformation
from penstock.runtime.operator import OperatorContext
from penstock.runtime.stateless import FilterOperator, MapOperator
from penstock.tracing import FilterProgram, MapProgram, NotTraceable, trace_filter, trace_map

_PATIENCE = 3
_LONGEST_PAUSE = 64


class _Attempts:
    """Whether to try columns: batches like those that failed lately are likely to fail again."""

    def __init__(self) -> None:
        self._failures = 0
        self._pause = 0

    def is_due(self) -> bool:
        if self._pause:
            self._pause -= 1
            return False
        return True

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> None:
        self._failures += 1
        if self._failures >= _PATIENCE:
            self._pause = min(_LONGEST_PAUSE, 1 << (self._failures - _PATIENCE))


class TracedMapOperator(MapOperator):
    """One result per record, computed over columns."""

    def __init__(
        self,
        function: Any,
        output_codec: RecordCodec,
        input_type: TypeInformation,
        output_type: TypeInformation | None,
    ) -> None:
        super().__init__(function, output_codec)
        self._input_type = input_type
        self._output_type = output_type

    def open(self, context: OperatorContext) -> None:
        """Traces the function as it has come here, with what it captures here."""
        super().open(context)
        self._attempts = _Attempts()
        self._input_codec = codec_for(self._input_type)
        try:
            self._program: MapProgram | None = trace_map(self._function, self._input_type, self._output_type)
        except NotTraceable:
            self._program = None

    def process(self, batch: Batch, input_index: int) -> None:
        """Computes the results."""
        columns = batch.columns_of(self._input_codec)
        results = None if columns is None or not len(batch) else self._computed(columns, len(batch))
        if results is None:
            super().process(batch, input_index)
        else:
            self._context.output.emit(results.with_timestamps(batch.either_timestamps))

    def _computed(self, columns: list[pa.Array], count: int) -> Batch | None:
        if self._program is None or not self._attempts.is_due():
            return None
        try:
            results = self._program.columns(columns, count)
        except Exception:
            self._attempts.failed()
            return None
        self._attempts.succeeded()
        if self._output_codec.schema is None:
            return FormedBatch(self._output_codec, codec_for(self._program.type), results)
        return Batch(self._output_codec, columns=results)


class TracedFilterOperator(FilterOperator):
    """The records for which the function says yes, found over columns."""

    def __init__(
        self,
        function: Any,
        output_codec: RecordCodec,
        input_type: TypeInformation,
        output_type: TypeInformation | None,
    ) -> None:
        super().__init__(function, output_codec)
        self._input_type = input_type

    def open(self, context: OperatorContext) -> None:
        """Traces the function as it has come here, with what it captures here."""
        super().open(context)
        self._attempts = _Attempts()
        self._input_codec = codec_for(self._input_type)
        try:
            self._program: FilterProgram | None = trace_filter(self._function, self._input_type)
        except NotTraceable:
            self._program = None

    def process(self, batch: Batch, input_index: int) -> None:
        """Keeps some of the records."""
        columns = batch.columns_of(self._input_codec)
        mask = None if columns is None or not len(batch) else self._mask(columns, len(batch))
        if mask is None:
            super().process(batch, input_index)
            return
        kept = mask.true_count
        if kept == len(batch):
            self._context.output.emit(batch.with_timestamps(batch.either_timestamps))
        elif kept:
            self._context.output.emit(batch.filtered(mask))

    def _mask(self, columns: list[pa.Array], count: int) -> pa.Array | None:
        if self._program is None or not self._attempts.is_due():
            return None
        try:
            mask = self._program.mask(columns, count)
        except Exception:
            self._attempts.failed()
            return None
        self._attempts.succeeded()
        return mask
