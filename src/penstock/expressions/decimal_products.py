"""Products of integers and a decimal number, exact to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa

from penstock.common.errors import PlanError
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation, Types
from penstock.expressions.bound import BoundExpression, BoundKernel, BoundLiteral, converted
from penstock.expressions.type_rules import LONG, ExpressionType, is_integer, shown

BIG_DEC: TypeInformation = Types.BIG_DEC()
PRODUCT_DIGITS = 28
"""The most digits of a product: what Python's decimal numbers have, unless a program says otherwise."""
_INTEGER_DIGITS = 19
_MOST_DIGITS = PRODUCT_DIGITS - _INTEGER_DIGITS
_MOST_PLACES = 6
"""Python writes numbers of more decimal places with an exponent where they are small."""


def is_factor(value: object) -> bool:
    """Whether the product of the number and any integer of 64 bits is what Python makes of the two.

    Python has a negative zero, which Arrow's decimal numbers do not have: with factors above zero there is none.
    """
    if not isinstance(value, Decimal) or not value.is_finite() or value <= 0:
        return False
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return -_MOST_PLACES <= exponent <= 0 and len(digits) <= _MOST_DIGITS


def products(factor: Decimal) -> Callable[[pa.Array], pa.Array]:
    """What multiplies integers of 64 bits by a factor; results are the texts that Python writes."""
    _, digits, exponent = factor.as_tuple()
    assert isinstance(exponent, int)
    places = -exponent
    whole = int("".join(map(str, digits)))
    scalar = pa.scalar(factor, pa.decimal128(_MOST_DIGITS + places, places))
    integers = pa.decimal128(_INTEGER_DIGITS, 0)

    def multiplied(value: pa.Array) -> pa.Array:
        try:
            shifted = pc.multiply_checked(value, whole)
        except pa.ArrowInvalid:  # more than 64 bits
            return pc.cast(pc.multiply(pc.cast(value, integers), scalar), pa.string())
        least = pc.min(shifted).as_py()
        if places == 0 or (least is not None and least >= 10**places):
            # Much faster than Arrow's decimal numbers become texts: the digits, and a point before the last of them.
            texts = pc.cast(shifted, pa.string())
            return texts if places == 0 else pc.binary_replace_slice(texts, -places, -places, ".")
        return pc.cast(pc.multiply(pc.cast(value, integers), scalar), pa.string())

    return multiplied


def bound_product(text: str, operands: Sequence[BoundExpression]) -> BoundExpression:
    """`integer * Decimal(...)`: numbers of any size, which travel as text."""
    factors = [each for each in operands if isinstance(each, BoundLiteral) and is_factor(each.value)]
    integers = [each for each in operands if is_integer(each.type)]
    if len(factors) != 1 or len(integers) != 1:
        given = " and ".join(shown(operand.type) for operand in operands)
        raise PlanError(
            f"`{text}`: a Decimal is multiplied with integers, and is a value above zero of at most {_MOST_DIGITS} "
            f"digits, {_MOST_PLACES} of them behind the point; these are {given}. For other decimal numbers pass a "
            "function of the record"
        )
    multiply = products(factors[0].value)
    operand = converted(integers[0], LONG)
    return BoundKernel(text, BIG_DEC, (operand,), multiply)


def is_decimal(given: ExpressionType) -> bool:
    """BIG_DEC."""
    return given == BIG_DEC
