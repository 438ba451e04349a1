"""Arithmetic on columns with Python's results: exact or an error, floored division, no silent infinities.

Kernels do the work. Where they would give another answer than Python (the quotient of two integers beyond 2**53, say),
those few values are computed by Python.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.expressions.bound import Value

_EXACT_IN_DOUBLE = 1 << 53
_LARGEST_EXACT_POWER_OF_TEN = 22


def python_where(wrong: pa.Array, result: pa.Array, compute: Callable[..., Any], *operands: Value) -> pa.Array:
    """The result, with what Python computes from the operands at the places where it is not right."""
    if not pc.any(wrong).as_py():
        return result
    wrong = pc.fill_null(wrong, False)
    count = pc.sum(wrong).as_py()
    taken = [
        [each.as_py()] * count if isinstance(each, pa.Scalar) else each.filter(wrong).to_pylist() for each in operands
    ]
    return pc.replace_with_mask(result, wrong, pa.array(map(compute, *taken), result.type))


def as_double(value: Value) -> Value:
    """Numbers as doubles; integers are rounded as Python rounds them."""
    if isinstance(value, pa.Scalar) and value.is_valid:
        return pa.scalar(float(value.as_py()), pa.float64())
    return pc.cast(value, pa.float64(), safe=False)


def _beyond_double(value: Value) -> Value:
    """Where integers are not exact as doubles."""
    return pc.or_(pc.greater(value, _EXACT_IN_DOUBLE), pc.less(value, -_EXACT_IN_DOUBLE))


def divide_integers(left: Value, right: Value) -> pa.Array:
    """`/`: the double next to the quotient."""
    quotient = pc.divide_checked(as_double(left), as_double(right))
    return python_where(pc.or_(_beyond_double(left), _beyond_double(right)), quotient, operator.truediv, left, right)


def floor_divide_integers(left: Value, right: Value) -> pa.Array:
    """`//`, rounded down."""
    quotient = pc.divide_checked(left, right)
    remainder = pc.subtract(left, pc.multiply(quotient, right))
    if _is_positive(right):
        below = pc.less(remainder, 0)
        return pc.subtract(quotient, pc.cast(below, pa.int64())) if pc.any(below).as_py() else quotient
    return pc.subtract(quotient, pc.cast(_has_other_sign(remainder, right), pa.int64()))


def modulo_integers(left: Value, right: Value) -> pa.Array:
    """`%`, with the sign of the divisor."""
    if _is_positive(right):
        remainder = pc.subtract(left, pc.multiply(pc.divide(left, right), right))
        below = pc.less(remainder, 0)
        return pc.if_else(below, pc.add(remainder, right), remainder) if pc.any(below).as_py() else remainder
    # The quotient of the least integer and -1 does not fit, though their modulo does: it is that of 1.
    divisor = pc.if_else(pc.equal(right, -1), pa.scalar(1, pa.int64()), right)
    remainder = pc.subtract(left, pc.multiply(pc.divide_checked(left, divisor), divisor))
    return pc.if_else(_has_other_sign(remainder, divisor), pc.add(remainder, divisor), remainder)


def _is_positive(value: Value) -> bool:
    """Whether it is one number, greater than zero: then only values below zero are rounded the other way."""
    return isinstance(value, pa.Scalar) and value.is_valid and value.as_py() > 0


def _has_other_sign(remainder: Value, divisor: Value) -> Value:
    return pc.and_(pc.not_equal(remainder, 0), pc.xor(pc.less(remainder, 0), pc.less(divisor, 0)))


def power_of_integers(base: Value, exponent: Value) -> pa.Array:
    """`**` with an exponent that is not negative."""
    if pc.any(pc.and_(pc.is_valid(base), pc.less(exponent, 0))).as_py():
        raise ValueError("a negative exponent makes a float of an integer; write `.cast(float)` on the base")
    return pc.power_checked(base, exponent)


def floor_divide_floats(left: Value, right: Value) -> pa.Array:
    """`//`, rounded down."""
    return _by_numpy(np.floor_divide, left, right)


def modulo_floats(left: Value, right: Value) -> pa.Array:
    """`%`, with the sign of the divisor."""
    return _by_numpy(np.remainder, left, right)


def _by_numpy(function: Any, left: Value, right: Value) -> pa.Array:
    """A function that numpy computes as Python does, and Arrow does not have."""
    present = pc.and_(pc.is_valid(left), pc.is_valid(right))
    if pc.any(pc.and_(present, pc.equal(right, 0.0))).as_py():
        raise ZeroDivisionError
    with np.errstate(all="ignore"):
        result = function(_numbers(left), _numbers(right))
    return pa.array(result, pa.float64(), mask=pc.invert(present).to_numpy(zero_copy_only=False))


def _numbers(value: Value) -> Any:
    if isinstance(value, pa.Scalar):
        return math.nan if value.as_py() is None else value.as_py()
    return value.to_numpy(zero_copy_only=False)


def power_of_floats(base: Value, exponent: Value) -> pa.Array:
    """`**`."""
    is_finite_negative = pc.and_(pc.less(exponent, 0.0), pc.is_finite(exponent))
    if pc.any(pc.and_(pc.equal(base, 0.0), is_finite_negative)).as_py():
        raise ZeroDivisionError
    result = pc.power(base, exponent)
    is_new_nan = pc.and_not(pc.is_nan(result), pc.or_(pc.is_nan(base), pc.is_nan(exponent)))
    if pc.any(is_new_nan).as_py():
        raise ValueError("a negative number to a power that is not whole is no real number")
    return _without_new_infinity(result, base, exponent)


def _without_new_infinity(result: pa.Array, *operands: Value) -> pa.Array:
    are_finite: Value = pc.is_finite(operands[0])
    for operand in operands[1:]:
        are_finite = pc.and_(are_finite, pc.is_finite(operand))
    if pc.any(pc.and_(pc.is_inf(result), are_finite)).as_py():
        raise OverflowError("the result is too large for a float")
    return result


def exponential(value: Value) -> pa.Array:
    """`math.exp`."""
    return _without_new_infinity(pc.exp(value), value)


def square_root(value: Value) -> pa.Array:
    """`math.sqrt`."""
    return pc.sqrt_checked(value)


def logarithm(value: Value) -> pa.Array:
    """`math.log`."""
    return pc.ln_checked(value)


_MOST_SHIFT = 62
"""The greatest power of two that is an integer of 64 bits."""


def shifted_left(value: Value, bits: Value) -> pa.Array:
    """`<<`."""
    _require_no_negative_shift(value, bits)
    power = pc.shift_left(pa.scalar(1, pa.int64()), pc.min_element_wise(bits, _MOST_SHIFT, skip_nulls=False))
    result = pc.multiply_checked(value, power)
    return python_where(pc.and_(pc.is_valid(value), pc.greater(bits, _MOST_SHIFT)), result, _far_left, value, bits)


def _far_left(value: int, bits: int) -> int:
    if value and (value != -1 or bits > _MOST_SHIFT + 1):
        raise OverflowError("the result does not fit into 64 bits")
    return value << bits if value else 0


def shifted_right(value: Value, bits: Value) -> pa.Array:
    """`>>`, which keeps the sign."""
    _require_no_negative_shift(value, bits)
    # The kernel leaves a number as it is where all its bits are to go; the sign is left after one more.
    most = pc.shift_right(value, pc.min_element_wise(bits, _MOST_SHIFT, skip_nulls=False))
    return pc.shift_right(most, pc.cast(pc.greater(bits, _MOST_SHIFT), pa.int64()))


def _require_no_negative_shift(value: Value, bits: Value) -> None:
    if pc.any(pc.and_(pc.is_valid(value), pc.less(bits, 0))).as_py():
        raise ValueError("negative shift count")


def whole(value: Value) -> pa.Array:
    """Whole doubles as integers."""
    if pc.any(pc.invert(pc.is_finite(value))).as_py():
        raise ValueError("NaN and infinity are no integers")
    too_large = pc.or_(pc.greater_equal(value, 2.0**63), pc.less(value, -(2.0**63)))
    if pc.any(too_large).as_py():
        raise OverflowError("the integer does not fit into 64 bits")
    return pc.cast(value, pa.int64(), safe=False)


def round_to_integer(value: Value) -> pa.Array:
    """`round(x)`: to the nearest integer, of two the even one."""
    return whole(pc.round(value, round_mode="half_to_even"))


def round_float(value: Value, digits: int) -> pa.Array:
    """`round(x, digits)`, which looks at the exact value of the double."""
    if abs(digits) > _LARGEST_EXACT_POWER_OF_TEN:
        return python_where(pc.is_valid(value), value, lambda number: round(number, digits), value)
    power = float(10 ** abs(digits))
    scaled = pc.multiply(value, power) if digits >= 0 else pc.divide(value, power)
    nearest = pc.round(scaled, round_mode="half_to_even")
    rounded = pc.divide(nearest, power) if digits >= 0 else pc.multiply(nearest, power)
    # Scaling rounds too: near the middle between two results it may have crossed it, or reached it.
    distance = pc.abs(pc.subtract(pc.abs(pc.subtract(scaled, nearest)), 0.5))
    doubtful = pc.or_(
        pc.less(distance, pc.multiply(pc.abs(scaled), 2.0**-50)),
        pc.invert(pc.less(pc.abs(scaled), float(_EXACT_IN_DOUBLE >> 1))),
    )
    return python_where(doubtful, rounded, lambda number: round(number, digits), value)


def round_integer(value: Value, digits: int) -> pa.Array:
    """`round(n, digits)`: of two that are as near, the one whose last digit is even."""
    if digits >= 0:
        return value
    if digits < -19:
        return pc.multiply(value, 0)  # Python would make the power of ten, however great it is
    if digits < -18:
        return python_where(pc.is_valid(value), value, lambda number: round(number, digits), value)
    step = pa.scalar(10**-digits, pa.int64())
    below = floor_divide_integers(value, step)
    rest = pc.subtract(value, pc.multiply(below, step))
    twice = pc.multiply(rest, 2)
    is_odd = pc.equal(pc.bit_wise_and(below, 1), 1)
    up = pc.or_(pc.greater(twice, step), pc.and_(pc.equal(twice, step), is_odd))
    return pc.multiply_checked(pc.add(below, pc.cast(up, pa.int64())), step)


def compare_exactly(comparison: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    """Compares integers with doubles, neither of them rounded."""
    if pa.types.is_floating(right.type):
        integers, doubles, is_left = left, right, True
    else:
        integers, doubles, is_left = right, left, False
    rounded = as_double(integers)
    result = comparison(rounded, doubles) if is_left else comparison(doubles, rounded)
    if any(_is_small(value) for value in (left, right)):
        return result
    doubtful = pc.and_(_beyond_double(integers), pc.equal(rounded, doubles))
    return python_where(doubtful, result, _PYTHON_COMPARISONS[comparison], left, right)


def _is_small(value: Value) -> bool:
    """Whether the value is a literal that no rounded number can be mistaken for."""
    return isinstance(value, pa.Scalar) and value.is_valid and abs(value.as_py()) < _EXACT_IN_DOUBLE


_PYTHON_COMPARISONS: dict[Callable[[Value, Value], Value], Callable[[Any, Any], bool]] = {
    pc.equal: operator.eq,
    pc.not_equal: operator.ne,
    pc.less: operator.lt,
    pc.less_equal: operator.le,
    pc.greater: operator.gt,
    pc.greater_equal: operator.ge,
}
