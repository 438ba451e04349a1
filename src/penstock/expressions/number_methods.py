"""The methods of expressions that are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.expressions.argument_checks import check_integer
from penstock.expressions.expression_methods import ExpressionMethods
from penstock.expressions.number_functions import (
    AbsoluteValue,
    BitOperation,
    IntegerFunction,
    RealFunction,
    Round,
    Signum,
)

if TYPE_CHECKING:
    from penstock.expressions.expression import Expression


class NumberMethods(ExpressionMethods):
    """Methods of numbers: what Python and its `math` give, and where they raise, the job fails."""

    def abs(self) -> Expression:
        """`abs(x)`."""
        return self._made(AbsoluteValue())

    def sign(self) -> Expression:
        """-1, 0 or 1, a number like `x`; NaN of NaN."""
        return self._made(Signum())

    def round(self, digits: int | None = None) -> Expression:
        """`round(x)`, an integer; `round(x, digits)`, a number like `x`. Of two that are as near, the even one."""
        if digits is not None:
            check_integer("round", "a number of digits", digits)
        return self._made(Round(digits))

    def floor(self) -> Expression:
        """`math.floor(x)`: the greatest integer that is not above."""
        return self._made(IntegerFunction("floor"))

    def ceil(self) -> Expression:
        """`math.ceil(x)`: the least integer that is not below."""
        return self._made(IntegerFunction("ceil"))

    def sqrt(self) -> Expression:
        """`math.sqrt(x)`."""
        return self._made(RealFunction("sqrt"))

    def exp(self) -> Expression:
        """`math.exp(x)`."""
        return self._made(RealFunction("exp"))

    def log(self) -> Expression:
        """`math.log(x)`, the natural logarithm."""
        return self._made(RealFunction("log"))

    def log2(self) -> Expression:
        """`math.log2(x)`."""
        return self._made(RealFunction("log2"))

    def log10(self) -> Expression:
        """`math.log10(x)`."""
        return self._made(RealFunction("log10"))

    def sin(self) -> Expression:
        """`math.sin(x)`."""
        return self._made(RealFunction("sin"))

    def cos(self) -> Expression:
        """`math.cos(x)`."""
        return self._made(RealFunction("cos"))

    def tan(self) -> Expression:
        """`math.tan(x)`."""
        return self._made(RealFunction("tan"))

    def asin(self) -> Expression:
        """`math.asin(x)`."""
        return self._made(RealFunction("asin"))

    def acos(self) -> Expression:
        """`math.acos(x)`."""
        return self._made(RealFunction("acos"))

    def atan(self) -> Expression:
        """`math.atan(x)`."""
        return self._made(RealFunction("atan"))

    def power(self, exponent: Any) -> Expression:
        """`x ** exponent`."""
        # The operator: one way to write it into plans.
        return self**exponent  # type: ignore[operator]

    def bit_and(self, other: Any) -> Expression:
        """`x & other` of integers; the operator `&` is that of conditions.

        >>> from penstock.expressions import col
        >>> col("flags").bit_and(4) != 0
        col("flags").bit_and(4) != 0
        """
        return self._made(BitOperation("bit_and"), other)

    def bit_or(self, other: Any) -> Expression:
        """`x | other` of integers."""
        return self._made(BitOperation("bit_or"), other)

    def bit_xor(self, other: Any) -> Expression:
        """`x ^ other` of integers."""
        return self._made(BitOperation("bit_xor"), other)

    def bit_not(self) -> Expression:
        """`~x` of an integer."""
        return self._made(BitOperation("bit_not"))

    def shift_left(self, bits: Any) -> Expression:
        """`x << bits`; what does not fit into 64 bits is an error."""
        return self._made(BitOperation("shift_left"), bits)

    def shift_right(self, bits: Any) -> Expression:
        """`x >> bits`."""
        return self._made(BitOperation("shift_right"), bits)
