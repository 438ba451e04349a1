"""Expressions whose types are known: what computes columns from columns."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.expressions.type_rules import ExpressionType

Value: TypeAlias = "pa.Array | pa.Scalar"
"""A value per row, or one value for all rows."""

Places = np.ndarray[Any, np.dtype[np.int64]]

EVALUATION_ERRORS = (ArithmeticError, ValueError, pa.ArrowCapacityError)
"""What an expression raises that a value does not suit. Other errors of Arrow's kernels are `ValueError`s."""


class Rows:
    """Some records, as columns."""

    __slots__ = ("columns", "count", "known")

    def __init__(self, columns: Sequence[pa.Array], count: int) -> None:
        self.columns = columns
        self.count = count
        self.known: dict[BoundShared, Value] = {}
        """What has been computed of these records already, and is asked for again."""

    def at(self, places: Places) -> Rows:
        """The records at some places."""
        return Rows(_TakenColumns(self.columns, pa.array(places)), len(places))

    def first(self, count: int) -> Rows:
        """The first few."""
        return Rows([column.slice(0, count) for column in self.columns], count)

    def only(self, place: int) -> Rows:
        """One of them."""
        return Rows([column.slice(place, 1) for column in self.columns], 1)


class _TakenColumns(Sequence[pa.Array]):
    """Columns of the records at some places, each taken when it is asked for."""

    def __init__(self, columns: Sequence[pa.Array], places: pa.Array) -> None:
        self._columns = columns
        self._places = places
        self._taken: dict[int, pa.Array] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, place: Any) -> Any:
        if place not in self._taken:
            self._taken[place] = self._columns[place].take(self._places)
        return self._taken[place]


class BoundExpression:
    """An expression over records of a known type."""

    is_costly: bool = False
    """Whether it is worth while to compute it for fewer records."""

    def __init__(self, text: str, result_type: ExpressionType) -> None:
        self.text = text
        self.type = result_type

    def evaluate(self, rows: Rows) -> Value:
        """The value for each row; raises one of `EVALUATION_ERRORS` that says what went wrong, not where."""
        raise NotImplementedError

    def column(self, rows: Rows) -> pa.Array:
        """The values as an array with an element per row."""
        if rows.count == 0:
            # Nobody asks for the value, not even where it is the same for all rows and cannot be computed.
            return pa.array([], pa.null() if self.type is None else self.type.column_type())
        value = self.evaluate(rows)
        return pa.repeat(value, rows.count) if isinstance(value, pa.Scalar) else value


class BoundField(BoundExpression):
    """A column of the records."""

    def __init__(self, text: str, result_type: ExpressionType, place: int) -> None:
        super().__init__(text, result_type)
        self._place = place

    def evaluate(self, rows: Rows) -> Value:
        return rows.columns[self._place]


class BoundLiteral(BoundExpression):
    """One value for all rows."""

    def __init__(self, text: str, result_type: ExpressionType, value: Any, scalar: pa.Scalar) -> None:
        super().__init__(text, result_type)
        self.value = value
        self._scalar = scalar

    def evaluate(self, rows: Rows) -> Value:
        return self._scalar


class BoundKernel(BoundExpression):
    """A function of columns. It is called with at least one array; other operands may be scalars."""

    def __init__(
        self,
        text: str,
        result_type: ExpressionType,
        operands: Sequence[BoundExpression],
        kernel: Callable[..., pa.Array],
        *,
        is_costly: bool = False,
    ) -> None:
        super().__init__(text, result_type)
        self._operands = tuple(operands)
        self._kernel = kernel
        self.is_costly = is_costly or any(operand.is_costly for operand in operands)

    def evaluate(self, rows: Rows) -> Value:
        values = [operand.evaluate(rows) for operand in self._operands]
        try:
            if all(isinstance(value, pa.Scalar) for value in values):
                return self._kernel(*(pa.repeat(value, 1) for value in values))[0]
            return self._kernel(*values)
        except EVALUATION_ERRORS as error:
            raise _in_python_terms(error, self.text) from None


class BoundShared(BoundExpression):
    """A part that an expression has in several places: computed once for the same records."""

    def __init__(self, shared: BoundExpression) -> None:
        super().__init__(shared.text, shared.type)
        self._shared = shared
        self.is_costly = shared.is_costly

    def evaluate(self, rows: Rows) -> Value:
        known = rows.known.get(self)
        if known is None:
            known = rows.known[self] = self._shared.evaluate(rows)
        return known


def _in_python_terms(error: Exception, text: str) -> Exception:
    """The error with the part of the expression that raised it, of the class that Python would raise."""
    message = str(error)
    if isinstance(error, ZeroDivisionError) or message == "divide by zero":
        return ZeroDivisionError(f"division by zero in `{text}`")
    if isinstance(error, pa.ArrowCapacityError):
        return OverflowError(f"the texts are longer than a column holds, 2 GB, in `{text}`")
    if message == "overflow":
        return OverflowError(f"the result does not fit into 64 bits in `{text}`")
    raised = OverflowError if isinstance(error, OverflowError) else ValueError
    return raised(f"{message} in `{text}`")


def converted(operand: BoundExpression, target: ExpressionType) -> BoundExpression:
    """The operand in a type that holds all its values; the text stays, for the program did not ask for this."""
    if target is None or (operand.type is not None and operand.type.exact_key() == target.exact_key()):
        return operand
    arrow_type = target.column_type()
    if operand.type is None:
        return BoundLiteral(operand.text, target, None, pa.scalar(None, arrow_type))
    return BoundKernel(operand.text, target, (operand,), lambda value: pc.cast(value, arrow_type, safe=False))


def scattered(parts: Sequence[pa.Array], places: Sequence[Places]) -> pa.Array:
    """One array of parts that say which rows they are for."""
    order = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_arrays(parts).take(pa.array(order))
