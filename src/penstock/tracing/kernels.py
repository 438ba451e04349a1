"""What computes terms: kernels that say what Python says, or raise.

Whatever a kernel raises sends the batch to the function itself, so a kernel needs no message: it has to be right where
it gives an answer. Operands are arrays or scalars without nulls, at least one of them an array, unless said otherwise.
"""

from __future__ import annotations

import decimal
import operator
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.expressions import number_kernels
from penstock.expressions.bound import Value
from penstock.expressions.decimal_products import PRODUCT_DIGITS, products
from penstock.tracing.letter_counts import count_letter
from penstock.tracing.refusal import Unproven
from penstock.tracing.terms import ARROW_TYPES, Kernel, Kind

_CLASSES = {Kind.INT: int, Kind.FLOAT: float, Kind.STR: str, Kind.BOOL: bool}
_WHITESPACE = "".join(character for character in map(chr, range(128)) if character.isspace())


def python_values(value: Value) -> Any:
    """The values as Python has them: a list, or a single value without end."""
    if isinstance(value, pa.Scalar):
        return repeat(value.as_py())
    if value.null_count == 0 and (pa.types.is_integer(value.type) or pa.types.is_floating(value.type)):
        return value.to_numpy().tolist()
    return value.to_pylist()


def by_python(function: Callable[..., Any], kind: Kind) -> Kernel:
    """A function of Python's own, called for each value of the columns: the meaning is its own."""
    arrow_type, expected = ARROW_TYPES[kind], _CLASSES[kind]

    def kernel(*operands: Value) -> pa.Array:
        results = list(map(function, *map(python_values, operands)))
        if set(map(type, results)) - {expected}:
            raise Unproven
        return _whole(pa.array(results, arrow_type))

    return kernel


def _whole(array: Any) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        raise Unproven  # more than 2 GB of text
    return array


# --- numbers


def as_int(value: Value) -> Value:
    """A bool as the int that it is."""
    return pc.cast(value, pa.int64())


def as_double(value: Value) -> Value:
    """`float(n)`."""
    return number_kernels.as_double(value)


INTEGER_ARITHMETIC: dict[str, Kernel] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": number_kernels.divide_integers,
    "//": number_kernels.floor_divide_integers,
    "%": number_kernels.modulo_integers,
    "**": number_kernels.power_of_integers,
    "&": pc.bit_wise_and,
    "|": pc.bit_wise_or,
    "^": pc.bit_wise_xor,
    ">>": by_python(operator.rshift, Kind.INT),
    # Not by Python: of a branch that few records take, all are tried, and one of them may be shifted by 10**11.
    "<<": number_kernels.shifted_left,
}

FLOAT_ARITHMETIC: dict[str, Kernel] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": pc.divide_checked,
    "//": number_kernels.floor_divide_floats,
    "%": number_kernels.modulo_floats,
    "**": by_python(operator.pow, Kind.FLOAT),
}

BOOLEAN_ARITHMETIC: dict[str, Kernel] = {"&": pc.and_, "|": pc.or_, "^": pc.xor}


def truncated(value: Value) -> pa.Array:
    """`int(x)`, `math.trunc(x)`."""
    return number_kernels.whole(pc.trunc(value))


def floor(value: Value) -> pa.Array:
    """`math.floor(x)`."""
    return number_kernels.whole(pc.floor(value))


def ceiling(value: Value) -> pa.Array:
    """`math.ceil(x)`."""
    return number_kernels.whole(pc.ceil(value))


def larger(first: Value, second: Value) -> pa.Array:
    """`max(first, second)`: the first of equal ones, and whatever NaN does."""
    return pc.if_else(pc.greater(second, first), second, first)


def smaller(first: Value, second: Value) -> pa.Array:
    """`min(first, second)`."""
    return pc.if_else(pc.less(second, first), second, first)


_WIDE_ENOUGH = 1_000
"""An exponent that no product reaches."""


def decimal_products(factor: decimal.Decimal) -> Kernel:
    """`n * factor`, where Python's decimal numbers have the digits for it."""
    multiply = products(factor)

    def kernel(value: pa.Array) -> pa.Array:
        context = decimal.getcontext()
        exponents = min(context.Emax - context.prec, -context.Emin)
        if context.prec < PRODUCT_DIGITS or exponents < _WIDE_ENOUGH:
            raise Unproven
        return multiply(value)

    return kernel


_INTEGER_TEXT = r"^-?[0-9]{1,18}$"
_DECIMAL_TEXT = r"^-?[0-9]{1,17}(\.[0-9]{1,17})?$"


def integer_of_text(value: pa.Array) -> pa.Array:
    """`int(text)`."""
    if not pc.all(pc.match_substring_regex(value, _INTEGER_TEXT)).as_py():
        return by_python(int, Kind.INT)(value)
    return pc.cast(value, pa.int64())


def float_of_text(value: pa.Array) -> pa.Array:
    """`float(text)`."""
    if not pc.all(pc.match_substring_regex(value, _DECIMAL_TEXT)).as_py():
        return by_python(float, Kind.FLOAT)(value)
    return pc.cast(value, pa.float64())


# --- comparisons


COMPARISONS: dict[str, Kernel] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compared(symbol: str, of_different_numbers: bool) -> Kernel:
    """A comparison; an int and a float are compared as Python does, neither of them rounded."""
    comparison = COMPARISONS[symbol]
    if of_different_numbers:
        return lambda left, right: number_kernels.compare_exactly(comparison, left, right)
    return comparison


def equality(symbol: str, of_different_numbers: bool) -> Kernel:
    """`==` and `!=` of values of which some are None: None equals None and nothing else."""
    compare = compared("==", of_different_numbers)

    def kernel(left: Value, right: Value) -> pa.Array:
        equal = compare(left, right)
        if equal.null_count:
            both_none = pc.and_(pc.is_null(left), pc.is_null(right))
            equal = pc.if_else(pc.is_null(equal), both_none, equal)
        return equal if symbol == "==" else pc.invert(equal)

    return kernel


def is_none(value: pa.Array) -> pa.Array:
    """`value is None`."""
    return pc.is_null(value)


def one_of(values: pa.Array, has_none: bool) -> Kernel:
    """Whether a value, which may be None, is among constants of its class."""

    def kernel(value: pa.Array) -> pa.Array:
        found = pc.is_in(value, value_set=values)
        return pc.or_(found, pc.is_null(value)) if has_none else found

    return kernel


# --- truth


def truth_of_number(value: Value) -> Value:
    """`bool(number)`; None is false."""
    return pc.fill_null(pc.not_equal(value, pa.scalar(0, value.type)), False)


def truth_of_boolean(value: Value) -> Value:
    """`bool(flag)`; None is false."""
    return pc.fill_null(value, False)


def truth_of_text(value: Value) -> Value:
    """`bool(text)`; None is false."""
    return pc.fill_null(pc.greater(pc.binary_length(value), 0), False)


# --- text


def joined(*texts: Value) -> pa.Array:
    """Texts one after the other."""
    return _whole(pc.binary_join_element_wise(*texts, ""))


def text_of_integer(value: Value) -> pa.Array:
    """`str(n)`."""
    return pc.cast(value, pa.string())


def text_of_boolean(value: Value) -> pa.Array:
    """`str(flag)`."""
    return pc.if_else(value, "True", "False")


def length(value: pa.Array) -> pa.Array:
    """`len(text)`."""
    return pc.cast(pc.utf8_length(value), pa.int64())


def ascii_or_python(of_ascii: Callable[[pa.Array], pa.Array], of_python: Callable[[str], str]) -> Kernel:
    """A method of texts whose kernel is right in ASCII only."""
    otherwise = by_python(of_python, Kind.STR)

    def kernel(value: pa.Array) -> pa.Array:
        return of_ascii(value) if pc.all(pc.string_is_ascii(value)).as_py() else otherwise(value)

    return kernel


upper = ascii_or_python(pc.ascii_upper, str.upper)
lower = ascii_or_python(pc.ascii_lower, str.lower)
strip = ascii_or_python(lambda value: pc.ascii_trim(value, _WHITESPACE), str.strip)
lstrip = ascii_or_python(lambda value: pc.ascii_ltrim(value, _WHITESPACE), str.lstrip)
rstrip = ascii_or_python(lambda value: pc.ascii_rtrim(value, _WHITESPACE), str.rstrip)


def begins(prefixes: Sequence[str]) -> Kernel:
    """`text.startswith(prefix)`, or one of several."""
    return _any_of(pc.starts_with, prefixes)


def ends(suffixes: Sequence[str]) -> Kernel:
    """`text.endswith(suffix)`, or one of several."""
    return _any_of(pc.ends_with, suffixes)


def _any_of(matches: Callable[[pa.Array, str], pa.Array], patterns: Sequence[str]) -> Kernel:
    def kernel(value: pa.Array) -> pa.Array:
        found = matches(value, patterns[0])
        for pattern in patterns[1:]:
            found = pc.or_(found, matches(value, pattern))
        return found

    return kernel


def contains(part: str) -> Kernel:
    """`part in text`."""
    return lambda value: pc.match_substring(value, part)


def replaced(old: str, new: str) -> Kernel:
    """`text.replace(old, new)`."""
    if not old:
        return by_python(lambda text: text.replace(old, new), Kind.STR)
    return lambda value: pc.replace_substring(value, old, new)


def counted(part: str) -> Kernel:
    """`text.count(part)`, of a part that is not empty."""
    if len(part) == 1 and part.isascii():
        return lambda value: count_letter(value, part)
    return lambda value: pc.cast(pc.count_substring(value, part), pa.int64())


def sliced(part: slice) -> Kernel:
    """`text[start:stop]`."""
    start, stop = part.start or 0, part.stop
    if part.step not in (None, 1) or start < 0 or (stop is not None and stop < 0):
        return by_python(operator.itemgetter(part), Kind.STR)
    return lambda value: pc.utf8_slice_codeunits(value, start=start, stop=stop)


def character(place: int) -> Kernel:
    """`text[place]`."""
    if place < 0:
        return by_python(operator.itemgetter(place), Kind.STR)

    def kernel(value: pa.Array) -> pa.Array:
        if pc.min(pc.utf8_length(value)).as_py() <= place:
            raise Unproven
        return pc.utf8_slice_codeunits(value, start=place, stop=place + 1)

    return kernel


# --- rows


def chosen(condition: pa.Array, first: Value, second: Value) -> Value:
    """The first value where the condition is true, the second where it is not."""
    if pa.types.is_nested(first.type):
        count = len(condition)
        both = pa.concat_arrays([expanded(first, count), expanded(second, count)])
        places = np.arange(count) + np.where(condition.to_numpy(zero_copy_only=False), 0, count)
        return both.take(pa.array(places))
    return pc.if_else(condition, first, second)


def expanded(value: Value, count: int) -> pa.Array:
    """One value per record."""
    return pa.repeat(value, count) if isinstance(value, pa.Scalar) else value


def scattered(condition: pa.Array, when_true: pa.Array, when_false: pa.Array) -> pa.Array:
    """Puts values of the records that meet a condition, and of those that do not, at their places."""
    meets = condition.to_numpy(zero_copy_only=False)
    places = np.where(meets, np.cumsum(meets) - 1, len(when_true) + np.cumsum(~meets) - 1)
    return pa.concat_arrays([when_true, when_false]).take(pa.array(places))


def inverted(condition: pa.Array) -> pa.Array:
    """Where a condition is not met."""
    return pc.invert(condition)
