"""The operators behind `map`, `flat_map` and `filter` with an expression: columns in, columns out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import TypeMismatchError
from penstock.common.kernels import pc
from penstock.common.null_columns import filtered_columns
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from penstock.expressions.exploding import ExplodingEvaluator, Parents
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import Operator, OperatorContext

Computed = TypeVar("Computed")
Made_co = TypeVar("Made_co", covariant=True)


class BatchEvaluator(Protocol[Made_co]):
    """Computes something of columns; raises `RecordEvaluationError` for the first record that fails."""

    def columns(self, columns: Sequence[pa.Array], count: int) -> Made_co:
        """What is made of so many records."""
        ...


class ExpressionOperator(Operator, Generic[Computed]):
    """Computes an expression for the records of a batch at once."""

    def __init__(self, evaluator: BatchEvaluator[Computed]) -> None:
        self._evaluator = evaluator

    def open(self, context: OperatorContext) -> None:
        """Takes note of the context."""
        self._context = context

    def _evaluated(self, batch: Batch) -> Computed:
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


class ExpressionMapOperator(ExpressionOperator[list[pa.Array]]):
    """The values of the expression, one per record."""

    def __init__(self, evaluator: Evaluator, output_codec: RecordCodec) -> None:
        super().__init__(evaluator)
        self._output_codec = output_codec

    def process(self, batch: Batch, input_index: int) -> None:
        """Computes a value for every record."""
        if len(batch):
            columns = self._evaluated(batch)
            self._context.output.emit(Batch(self._output_codec, columns=columns, timestamps=batch.either_timestamps))


class ExpressionFlatMapOperator(ExpressionOperator[tuple[list[pa.Array], Parents]]):
    """The elements of a list, a record for each, with the time of the record that has the list."""

    def __init__(self, evaluator: ExplodingEvaluator, output_codec: RecordCodec) -> None:
        super().__init__(evaluator)
        self._output_codec = output_codec

    def process(self, batch: Batch, input_index: int) -> None:
        """Makes the results of every record."""
        if not len(batch):
            return
        columns, parents = self._evaluated(batch)
        if len(parents):
            stamps = batch.timestamp_column
            stamps = None if stamps is None else stamps.take(pa.array(parents))
            self._context.output.emit(Batch(self._output_codec, columns=columns, timestamps=stamps))


class ExpressionFilterOperator(ExpressionOperator[list[pa.Array]]):
    """The records for which the expression is true; columns stay columns."""

    def process(self, batch: Batch, input_index: int) -> None:
        """Keeps some of the records."""
        if not len(batch):
            return
        has_values = not batch.is_columnar
        (condition,) = self._evaluated(batch)
        mask = pc.fill_null(condition, False) if condition.null_count else condition
        kept = mask.true_count
        if kept == len(batch):
            self._context.output.emit(batch.with_timestamps(batch.either_timestamps))
        elif kept:
            stamps = batch.timestamp_column
            filtered = Batch(
                batch.codec,
                # Values that are there spare the next function of Python to make them again.
                values=list(compress(batch.values, mask.to_pylist())) if has_values else None,
                columns=filtered_columns(batch.columns, mask),
                timestamps=None if stamps is None else stamps.filter(mask),
            )
            self._context.output.emit(filtered)
