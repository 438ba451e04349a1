"""An expression over the records of a stream: columns in, columns out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import PlanError
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.expressions.bound import EVALUATION_ERRORS, BoundExpression, BoundKernel, BoundShared, Rows
from penstock.expressions.casting import fitted
from penstock.expressions.construction import BoundConstruction
from penstock.expressions.expression import Expression
from penstock.expressions.references import BoundRecord
from penstock.expressions.type_rules import is_boolean


class RecordEvaluationError(Exception):
    """A record that the expression cannot be computed for: its place among the records, and what it raises."""

    def __init__(self, index: int, cause: Exception) -> None:
        super().__init__(f"record {index}: {cause}")
        self.index = index
        self.cause = cause


class Evaluator:
    """An expression whose types are known. Raises `PlanError` where they do not fit together.

    >>> from penstock.common import Types
    >>> from penstock.expressions import col
    >>> evaluator = Evaluator(col("f0") // 2, Types.TUPLE([Types.INT(), Types.STRING()]))
    >>> evaluator.type
    Long
    >>> evaluator.columns([pa.array([7, -7, None], pa.int32()), pa.array(["a", "b", "c"])], 3)[0].to_pylist()
    [3, -4, None]
    """

    def __init__(
        self, expression: Expression, record_type: TypeInformation, result_type: TypeInformation | None = None
    ) -> None:
        if record_type.is_pickled:
            raise PlanError(
                f"`{expression.text}` needs records of a declared type, and these are any Python objects. Declare what "
                "they are: `output_type=` or an annotation (`-> Payment`) of the function before, `type_info=` of "
                "`from_collection`; or pass a function of the record"
            )
        bound = bind(expression, record_type)
        if result_type is not None:
            bound = fitted(bound, result_type)
        if bound.type is None:
            raise PlanError(f"`{expression.text}` has no type; give it one: `.cast(...)`")
        self._bound = bound
        self.type: TypeInformation = bound.type

    def columns(self, columns: Sequence[pa.Array], count: int) -> list[pa.Array]:
        """The columns of the results; raises `RecordEvaluationError` for the first record that fails."""
        rows = Rows(columns, count)
        try:
            return self._columns(rows)
        except EVALUATION_ERRORS as error:
            raise self._first_failure(rows, error) from None

    def _columns(self, rows: Rows) -> list[pa.Array]:
        bound = self._bound
        if isinstance(bound, BoundConstruction):
            return [part.column(rows) for part in bound.parts]
        if isinstance(bound, BoundRecord):
            return list(rows.columns)
        column = bound.column(rows)
        if not isinstance(self.type, CompositeTypeInfo):
            return [column]
        if column.null_count:
            raise ValueError(f"`{bound.text}` is None, and a record with fields cannot be None")
        return column.flatten()

    def _first_failure(self, rows: Rows, error: Exception) -> RecordEvaluationError:
        # Records do not depend on each other: a prefix fails if and only if it has the first one that fails.
        good, bad = 0, rows.count
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._failure(rows.first(middle)) is None:
                good = middle
            else:
                bad = middle
        return RecordEvaluationError(good, self._failure(rows.only(good)) or error)

    def _failure(self, rows: Rows) -> Exception | None:
        try:
            self._columns(rows)
        except EVALUATION_ERRORS as error:
            return error
        return None


def condition(expression: Expression, record_type: TypeInformation) -> Evaluator:
    """The evaluator of an expression that must be true or false."""
    evaluator = Evaluator(expression, record_type)
    if not is_boolean(evaluator.type):
        raise PlanError(f"`{expression.text}` is {evaluator.type!r}; expected a condition, which is true or false")
    return evaluator


def bind(expression: Expression, record_type: TypeInformation) -> BoundExpression:
    """The expression over records of a type. What the program has written once and uses often is computed once."""
    uses = Counter[int]()
    _count_uses(expression, uses)
    bound: dict[int, BoundExpression] = {}

    def bound_once(part: Expression) -> BoundExpression:
        known = bound.get(id(part))
        if known is None:
            operands = [bound_once(operand) for operand in part.operands]
            known = part.operation.bind(part.text, operands, record_type)
            if uses[id(part)] > 1 and isinstance(known, BoundKernel):
                known = BoundShared(known)
            bound[id(part)] = known
        return known

    return bound_once(expression)


def _count_uses(expression: Expression, uses: Counter[int]) -> None:
    uses[id(expression)] += 1
    if uses[id(expression)] == 1:
        for operand in expression.operands:
            _count_uses(operand, uses)


class ExpressionKey:
    """Takes the key out of records by an expression."""

    def __init__(
        self, expression: Expression, record_type: TypeInformation, key_type: TypeInformation | None = None
    ) -> None:
        self.expression = expression
        self._record_type = record_type
        self._evaluator = Evaluator(expression, record_type, key_type)
        self.type = self._evaluator.type

    def columns(self, batch: Batch) -> list[pa.Array]:
        """The columns of the keys."""
        return self._evaluator.columns(batch.columns, len(batch))

    def __call__(self, record: Any) -> Any:
        """The key of one record."""
        columns = self._evaluator.columns(codec_for(self._record_type).to_columns([record]), 1)
        return codec_for(self.type).to_values(columns)[0]

    def with_expression(self, expression: Expression) -> ExpressionKey:
        """The same key, written in another way."""
        return ExpressionKey(expression, self._record_type, self.type)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExpressionKey, (self.expression, self._record_type, self.type)
