"""Several records of one: the evaluator of an expression with `explode` in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.errors import PlanError
from penstock.common.typeinfo import CompositeTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.expressions.collection_functions import Explode, element_type
from penstock.expressions.collection_kernels import flattened
from penstock.expressions.construction import Alias, MakeRow, MakeTuple
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from penstock.expressions.expression import Expression
from penstock.expressions.references import RecordReference
from penstock.expressions.type_rules import is_list

Parents = np.ndarray[Any, np.dtype[np.int64]]


class ExplodingEvaluator:
    """`explode(...)`, alone or as one field of a row or a tuple, over records of a known type."""

    def __init__(
        self, expression: Expression, record_type: TypeInformation, result_type: TypeInformation | None = None
    ) -> None:
        with_list, self._place = _with_list(expression)
        self._evaluator = Evaluator(with_list, record_type)
        self.type: TypeInformation = self._type_of_results(expression)
        self._fit: Evaluator | None = None
        if result_type is not None:
            self._fit = Evaluator(Expression(RecordReference()), self.type, result_type)
            self.type = self._fit.type

    def columns(self, columns: Sequence[pa.Array], count: int) -> tuple[list[pa.Array], Parents]:
        """The columns of the results, and the place of the record that each is of."""
        made = self._evaluator.columns(columns, count)
        elements, parents = flattened(made[self._place or 0])
        if self._place is not None:
            taken = pa.array(parents)
            results = [elements if at == self._place else each.take(taken) for at, each in enumerate(made)]
        elif pa.types.is_struct(elements.type) and elements.null_count:
            missing = int(parents[np.flatnonzero(elements.is_null().to_numpy(zero_copy_only=False))[0]])
            raise RecordEvaluationError(missing, ValueError("a record with fields cannot be None, and an element is"))
        else:
            results = elements.flatten() if isinstance(elements, pa.StructArray) else [elements]
        if self._fit is None:
            return results, parents
        try:
            return self._fit.columns(results, len(parents)), parents
        except RecordEvaluationError as failure:
            raise RecordEvaluationError(int(parents[failure.index]), failure.cause) from failure

    def _type_of_results(self, expression: Expression) -> TypeInformation:
        made = self._evaluator.type
        exploded = made
        if self._place is not None:
            assert isinstance(made, CompositeTypeInfo)
            exploded = made.get_field_types()[self._place]
        if not is_list(exploded):
            raise PlanError(f"`{expression.text}`: explode needs a list, and it is given {exploded!r}")
        elements = element_type(exploded)
        if self._place is None:
            return elements
        assert isinstance(made, CompositeTypeInfo)
        types = [elements if at == self._place else each for at, each in enumerate(made.get_field_types())]
        return TupleTypeInfo(types) if isinstance(made, TupleTypeInfo) else RowTypeInfo(types, made.get_field_names())


def _with_list(expression: Expression) -> tuple[Expression, int | None]:
    """The expression with the list in the place of `explode`, and which field that is; None: the record itself."""
    inner = _without_alias(expression)
    if isinstance(inner.operation, Explode):
        return inner.operands[0], None
    operands = [_without_alias(operand) for operand in inner.operands]
    places = [place for place, each in enumerate(operands) if isinstance(each.operation, Explode)]
    if not isinstance(inner.operation, MakeRow | MakeTuple) or len(places) != 1:
        raise PlanError(
            f"`{expression.text}`: flat_map takes `explode(...)`, or a row or a tuple that has it as one of its fields"
        )
    operands[places[0]] = operands[places[0]].operands[0]
    return Expression(inner.operation, operands), places[0]


def _without_alias(expression: Expression) -> Expression:
    while isinstance(expression.operation, Alias):
        (expression,) = expression.operands
    return expression
