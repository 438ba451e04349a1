"""The timestamps of records by an expression."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import PlanError
from penstock.common.timestamp_assigner import TimestampAssigner
from penstock.common.typeinfo import TimestampTypeInfo, TypeInformation
from penstock.expressions.evaluator import Evaluator
from penstock.expressions.expression import Expression
from penstock.expressions.type_rules import is_integer


class ExpressionTimestampAssigner(TimestampAssigner):
    """Computes the times of many records at once."""

    def __init__(self, expression: Expression, record_type: TypeInformation) -> None:
        self.expression = expression
        self._record_type = record_type
        self._evaluator = Evaluator(expression, record_type)
        if isinstance(self._evaluator.type, TimestampTypeInfo):
            self._evaluator = Evaluator(expression.unix_millis(), record_type)
        if not is_integer(self._evaluator.type):
            raise PlanError(
                f"`{expression.text}` is {self._evaluator.type!r}; expected a timestamp, or whole milliseconds (for "
                f'seconds: `(col("seconds") * 1000).cast(Types.LONG())`)'
            )

    def timestamps(self, batch: Batch) -> pa.Array:
        """The time of each record; raises `RecordEvaluationError`."""
        return self._evaluator.columns(batch.columns, len(batch))[0].cast(pa.int64())

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The time of one record."""
        return self._evaluator.columns(codec_for(self._record_type).to_columns([value]), 1)[0][0].as_py()

    def with_expression(self, expression: Expression) -> ExpressionTimestampAssigner:
        """The same times, written in another way."""
        return ExpressionTimestampAssigner(expression, self._record_type)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExpressionTimestampAssigner, (self.expression, self._record_type)
