"""`== != < <= > >=`, `isin`, `is_null`, `is_nan`."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import PlanError
from penstock.common.kernels import pc
from penstock.common.type_inference import infer_type_of_values
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.bound import BoundExpression, BoundKernel, Value, converted
from penstock.expressions.number_kernels import compare_exactly
from penstock.expressions.operation import InfixOperation, MethodOperation, require, unsuitable
from penstock.expressions.type_rules import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    are_comparable,
    is_big,
    is_float,
    is_integer,
    is_number,
    is_ordered,
    is_text,
    shown,
)

_COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@dataclass(frozen=True)
class Comparison(InfixOperation):
    """A comparison of two values."""

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        return BoundKernel(text, BOOLEAN, *comparable(text, self.symbol, operands))


def comparable(
    text: str, symbol: str, operands: Sequence[BoundExpression]
) -> tuple[list[BoundExpression], Callable[..., Any]]:
    """Two operands in a form that can be compared, and what compares them as Python does."""
    left, right = operands
    for operand in operands:
        if is_big(operand.type):
            raise unsuitable(text, operand, "values that kernels compare; write `.cast(float)` or `.cast(int)` on it")
    if not are_comparable(left.type, right.type):
        raise PlanError(
            f"`{text}` compares {shown(left.type)} with {shown(right.type)}; expected two numbers, two texts, "
            "or two values of one type"
        )
    compare = _COMPARISONS[symbol]
    if not is_number(left.type):
        return list(operands), compare
    if is_integer(left.type) and is_integer(right.type):
        return [converted(operand, LONG) for operand in operands], compare
    in_64_bits = [converted(operand, DOUBLE if is_float(operand.type) else LONG) for operand in operands]
    if is_float(left.type) and is_float(right.type):
        return in_64_bits, compare
    return in_64_bits, lambda one, other: compare_exactly(compare, one, other)


@dataclass(frozen=True)
class IsIn(MethodOperation):
    """Whether a value is one of a list."""

    values: tuple[Any, ...]

    @property
    def method(self) -> str:
        return "isin"

    @property
    def arguments(self) -> Sequence[object]:
        return (list(self.values),)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        (operand,) = operands
        require(text, operands, is_ordered, "a number, a text, a boolean, a date, a time or bytes")
        assert operand.type is not None
        for value in self.values:
            value_type = infer_type_of_values([value])
            if not are_comparable(operand.type, value_type):
                raise PlanError(f"`{text}` compares {operand.type!r} with {value!r}, which is {value_type!r}")
        compared = LONG if is_integer(operand.type) else DOUBLE if is_float(operand.type) else operand.type
        if is_text(compared):
            compared = STRING
        wanted = [value for value in self.values if not is_number(compared) or _has_equal(value, compared)]
        if is_integer(compared):
            wanted = [int(value) for value in wanted]
        value_set = codec_for(compared).to_columns(wanted)[0]
        operand = converted(operand, compared)
        return BoundKernel(text, BOOLEAN, (operand,), lambda value: _is_in(value, value_set))


def _has_equal(value: Any, number_type: TypeInformation) -> bool:
    """Whether the number can be equal to one of that type at all: 1.5 to no integer, NaN to nothing."""
    if isinstance(value, float):
        return value.is_integer() and -(2.0**63) <= value < 2.0**63 if is_integer(number_type) else value == value  # noqa: PLR0124
    return is_integer(number_type) or int(float(value)) == value


def _is_in(value: pa.Array, value_set: pa.Array) -> pa.Array:
    if pa.types.is_floating(value.type):
        # The kernel tells -0.0 from 0.0; the sum with 0.0 is 0.0 for both.
        value, value_set = pc.add(value, 0.0), pc.add(value_set, 0.0)
    return pc.if_else(pc.is_valid(value), pc.is_in(value, value_set=value_set), pa.scalar(None, pa.bool_()))


@dataclass(frozen=True)
class IsNull(MethodOperation):
    """Whether there is no value; never null itself."""

    negated: bool

    @property
    def method(self) -> str:
        return "is_not_null" if self.negated else "is_null"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        return BoundKernel(text, BOOLEAN, operands, pc.is_valid if self.negated else pc.is_null)


@dataclass(frozen=True)
class IsNan(MethodOperation):
    """Whether a number is NaN."""

    @property
    def method(self) -> str:
        return "is_nan"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        return BoundKernel(text, BOOLEAN, [converted(operands[0], DOUBLE)], pc.is_nan)
