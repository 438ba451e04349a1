"""Functions of numbers: Python's own, those of `math`, and those of the bits of integers."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions import number_kernels
from penstock.expressions.bound import BoundExpression, BoundKernel, converted
from penstock.expressions.operation import MethodOperation, require
from penstock.expressions.type_rules import DOUBLE, LONG, is_integer, is_number

_TO_DOUBLE: dict[str, Callable[..., pa.Array]] = {
    "sqrt": number_kernels.square_root,
    "exp": number_kernels.exponential,
    "log": number_kernels.logarithm,
    "log2": pc.log2_checked,
    "log10": pc.log10_checked,
    "sin": pc.sin_checked,
    "cos": pc.cos_checked,
    "tan": pc.tan_checked,
    "asin": pc.asin_checked,
    "acos": pc.acos_checked,
    "atan": pc.atan,
}

_TO_INTEGER: dict[str, Callable[..., pa.Array]] = {
    "floor": lambda value: number_kernels.whole(pc.floor(value)),
    "ceil": lambda value: number_kernels.whole(pc.ceil(value)),
}


@dataclass(frozen=True)
class RealFunction(MethodOperation):
    """A function of Python's `math` that gives a float: `sqrt`, `exp`, `log`, `sin`, ..."""

    name: str

    @property
    def method(self) -> str:
        return self.name

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        return BoundKernel(text, DOUBLE, [converted(operands[0], DOUBLE)], _TO_DOUBLE[self.name])


@dataclass(frozen=True)
class IntegerFunction(MethodOperation):
    """A function of Python's `math` that gives an integer: `floor`, `ceil`."""

    name: str

    @property
    def method(self) -> str:
        return self.name

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        (operand,) = operands
        if is_integer(operand.type):
            return converted(operand, LONG)
        return BoundKernel(text, LONG, [converted(operand, DOUBLE)], _TO_INTEGER[self.name])


@dataclass(frozen=True)
class AbsoluteValue(MethodOperation):
    """`abs(x)`."""

    @property
    def method(self) -> str:
        return "abs"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        computed = converted(operands[0], LONG if is_integer(operands[0].type) else DOUBLE)
        return BoundKernel(text, computed.type, (computed,), pc.abs_checked)


@dataclass(frozen=True)
class Round(MethodOperation):
    """`round(x)`, an integer; `round(x, digits)`, a number like `x`."""

    digits: int | None

    @property
    def method(self) -> str:
        return "round"

    @property
    def arguments(self) -> Sequence[object]:
        return () if self.digits is None else (self.digits,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        (operand,) = operands
        digits = self.digits
        if is_integer(operand.type):
            operand = converted(operand, LONG)
            return BoundKernel(text, LONG, (operand,), lambda value: number_kernels.round_integer(value, digits or 0))
        operand = converted(operand, DOUBLE)
        if digits is None:
            return BoundKernel(text, LONG, (operand,), number_kernels.round_to_integer)
        return BoundKernel(text, DOUBLE, (operand,), lambda value: number_kernels.round_float(value, digits))


@dataclass(frozen=True)
class Signum(MethodOperation):
    """-1, 0 or 1, a number like the operand."""

    @property
    def method(self) -> str:
        return "sign"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        computed = converted(operands[0], LONG if is_integer(operands[0].type) else DOUBLE)
        sign_type = pa.int64() if computed.type == LONG else pa.float64()
        return BoundKernel(text, computed.type, (computed,), lambda value: pc.cast(pc.sign(value), sign_type))


_OF_BITS: dict[str, Callable[..., pa.Array]] = {
    "bit_and": pc.bit_wise_and,
    "bit_or": pc.bit_wise_or,
    "bit_xor": pc.bit_wise_xor,
    "bit_not": pc.bit_wise_not,
    "shift_left": number_kernels.shifted_left,
    "shift_right": number_kernels.shifted_right,
}


@dataclass(frozen=True)
class BitOperation(MethodOperation):
    """Python's `&`, `|`, `^`, `~`, `<<` and `>>` of integers."""

    name: str

    @property
    def method(self) -> str:
        return self.name

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_integer, "integers")
        return BoundKernel(text, LONG, [converted(operand, LONG) for operand in operands], _OF_BITS[self.name])
