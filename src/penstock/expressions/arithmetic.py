"""`+ - * / // % **` and the sign."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions import number_kernels
from penstock.expressions.bound import BoundExpression, BoundKernel, BoundLiteral, converted
from penstock.expressions.decimal_products import bound_product, is_decimal
from penstock.expressions.operation import InfixOperation, Operation, require
from penstock.expressions.text_kernels import joined
from penstock.expressions.type_rules import DOUBLE, LONG, STRING, is_integer, is_number, is_text

_ON_INTEGERS: dict[str, Callable[..., pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "//": number_kernels.floor_divide_integers,
    "%": number_kernels.modulo_integers,
    "**": number_kernels.power_of_integers,
}

_ON_DOUBLES: dict[str, Callable[..., pa.Array]] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": pc.divide_checked,
    "//": number_kernels.floor_divide_floats,
    "%": number_kernels.modulo_floats,
    "**": number_kernels.power_of_floats,
}


@dataclass(frozen=True)
class Arithmetic(InfixOperation):
    """An operation on two numbers; `+` joins texts too, and `*` takes decimal numbers."""

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        if self.symbol == "+" and any(is_text(operand.type) for operand in operands):
            require(text, operands, is_text, "texts on both sides")
            return BoundKernel(text, STRING, operands, joined)
        if self.symbol == "*" and any(is_decimal(operand.type) for operand in operands):
            return bound_product(text, operands)
        require(text, operands, is_number, "numbers or texts" if self.symbol == "+" else "numbers")
        if not all(is_integer(operand.type) for operand in operands) or self._makes_floats(operands[1]):
            doubles = [converted(operand, DOUBLE) for operand in operands]
            return BoundKernel(text, DOUBLE, doubles, _ON_DOUBLES[self.symbol])
        integers = [converted(operand, LONG) for operand in operands]
        if self.symbol == "/":
            return BoundKernel(text, DOUBLE, integers, number_kernels.divide_integers)
        return BoundKernel(text, LONG, integers, _ON_INTEGERS[self.symbol])

    def _makes_floats(self, exponent: BoundExpression) -> bool:
        # 2 ** -1 is a float: with a literal that is known when the plan is built.
        return self.symbol == "**" and isinstance(exponent, BoundLiteral) and exponent.value < 0


@dataclass(frozen=True)
class Sign(Operation):
    """`-x`, `+x`."""

    symbol: str

    @property
    def is_infix(self) -> bool:
        return True

    def render(self, operands: Sequence[str]) -> str:
        return f"{self.symbol}{operands[0]}"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        (operand,) = operands
        computed = converted(operand, LONG if is_integer(operand.type) else DOUBLE)
        if self.symbol == "+":
            return computed
        return BoundKernel(text, computed.type, (computed,), pc.negate_checked)
