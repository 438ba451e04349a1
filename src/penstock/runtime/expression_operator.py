"""The operators behind `map` and `filter` with an expression: columns in, columns out."""

from __future__ import annotations

from itertools import compress

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import TypeMismatchError
from penstock.common.kernels import pc
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import Operator, OperatorContext


class ExpressionOperator(Operator):
    """Computes an expression for the records of a batch at once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        self._context = context

    def _evaluated(self, batch: Batch) -> list[pa.Array]:
        try:
            return self._evaluator.columns(batch.columns, len(batch))
        except RecordEvaluationError as failure:
            raise self._failure(failure.cause, batch, failure.index) from failure.cause
        except TypeMismatchError as error:
            raise self._failure(error, batch, error.index) from error

    def _failure(self, error: Exception, batch: Batch, index: int | None) -> Exception:
        if index is None:
            return user_function_error(error, self._context)
        key = None if batch.keys is None else batch.keys[index]
        return user_function_error(error, self._context, key=key, record=batch.values[index])


class ExpressionMapOperator(ExpressionOperator):
    """The values of the expression, one per record."""

    def __init__(self, evaluator: Evaluator, output_codec: RecordCodec) -> None:
        super().__init__(evaluator)
        self._output_codec = output_codec

    def process(self, batch: Batch, input_index: int) -> None:
        """Computes a value for every record."""
        if len(batch):
            columns = self._evaluated(batch)
            self._context.output.emit(Batch(self._output_codec, columns=columns, timestamps=batch.either_timestamps))


class ExpressionFilterOperator(ExpressionOperator):
    """The records for which the expression is true; columns stay columns."""

    def process(self, batch: Batch, input_index: int) -> None:
        """Keeps some of the records."""
        if not len(batch):
            return
        has_values = not batch.is_columnar
        (condition,) = self._evaluated(batch)
        mask = pc.fill_null(condition, False)
        kept = pc.sum(mask).as_py()
        if kept == len(batch):
            self._context.output.emit(batch.with_timestamps(batch.either_timestamps))
        elif kept:
            stamps = batch.timestamp_column
            filtered = Batch(
                batch.codec,
                # Values that are there spare the next function of Python to make them again.
                values=list(compress(batch.values, mask.to_pylist())) if has_values else None,
                columns=[column.filter(mask) for column in batch.columns],
                timestamps=None if stamps is None else stamps.filter(mask),
            )
            self._context.output.emit(filtered)
