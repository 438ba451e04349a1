"""What records must fulfil to cross an exchange."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions import Expression
from penstock.expressions.evaluator import Evaluator


class EdgeCondition:
    """An expression that is true for the records that are sent."""

    def __init__(self, expression: Expression, record_type: TypeInformation) -> None:
        self._expression = expression
        self._record_type = record_type
        self._evaluator = Evaluator(expression, record_type)

    def of(self, batch: Batch) -> pa.Array | None:
        """Which records are sent; None where all of them are."""
        (condition,) = self._evaluator.columns(batch.columns, len(batch))
        mask = pc.fill_null(condition, False)
        return None if mask.true_count == len(batch) else mask

    def __reduce__(self) -> tuple[Any, ...]:
        return EdgeCondition, (self._expression, self._record_type)
