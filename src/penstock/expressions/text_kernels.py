"""Text functions on columns with Python's results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.expressions.bound import Value
from penstock.expressions.number_kernels import python_where

WHITESPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What `str.strip()` removes: a little more than Arrow's own idea of whitespace."""
_LONGEST = 1 << 31
"""More characters than a text in a column has; kernels take no numbers beyond 64 bits."""


def joined(*texts: Value) -> pa.Array:
    """The texts one after the other; null where one is null."""
    return pc.binary_join_element_wise(*texts, "")


def upper(value: pa.Array) -> pa.Array:
    """`str.upper`."""
    return _in_case(value, pc.ascii_upper, str.upper)


def lower(value: pa.Array) -> pa.Array:
    """`str.lower`."""
    return _in_case(value, pc.ascii_lower, str.lower)


def _in_case(value: pa.Array, of_ascii: Callable[[Any], Any], of_python: Callable[[str], str]) -> pa.Array:
    # Outside ASCII the kernels know neither that ß has two capitals nor that a final sigma is another letter.
    return python_where(pc.invert(pc.string_is_ascii(value)), of_ascii(value), of_python, value)


def substring(value: pa.Array, start: int, length: int | None) -> pa.Array:
    """`text[start:][:length]`."""
    tail = pc.utf8_slice_codeunits(value, start=max(-_LONGEST, min(start, _LONGEST)))
    return tail if length is None else pc.utf8_slice_codeunits(tail, start=0, stop=min(length, _LONGEST))


def padded(kernel: Callable[..., pa.Array], value: pa.Array, width: int, fill: str) -> pa.Array:
    """`str.rjust` and `str.ljust`."""
    return kernel(value, max(0, min(width, _LONGEST)), fill)


def repeated(value: pa.Array, times: int) -> pa.Array:
    """`text * times`."""
    return pc.binary_repeat(value, min(times, _LONGEST))


def joined_with(separator: str, *texts: Value) -> pa.Array:
    """The texts that are there, with a separator between them; the empty text where there are none."""
    # The kernel leaves out rows without any text: its result would be shorter than its operands.
    first = pc.if_else(pc.is_null(pc.coalesce(*texts)), "", texts[0])
    return pc.binary_join_element_wise(first, *texts[1:], separator, null_handling="skip")


def found_at(value: pa.Array, text: str) -> pa.Array:
    """`str.find`."""
    # The kernel counts bytes.
    places = pc.cast(pc.find_substring(value, text), pa.int64())
    return python_where(pc.invert(pc.string_is_ascii(value)), places, lambda each: each.find(text), value)


def formatted(value: pa.Array, digits: int) -> pa.Array:
    """`f"{number:,.2f}"`. Python's own: only it rounds the exact value of the double."""
    return by_distinct(value, lambda number: f"{number:,.{digits}f}", pa.string())


def digests(value: pa.Array, algorithm: str) -> pa.Array:
    """Digests in hexadecimal digits."""
    return by_distinct(value.cast(pa.binary()), lambda data: hashlib.new(algorithm, data).hexdigest(), pa.string())


def by_distinct(value: pa.Array, compute: Callable[[Any], Any], result_type: pa.DataType) -> pa.Array:
    """What Python computes for each distinct value; null stays null."""
    encoded = value.dictionary_encode()
    computed = pa.array(map(compute, encoded.dictionary.to_pylist()), result_type, size=len(encoded.dictionary))
    return computed.take(encoded.indices)


_INTEGER = r"^[+-]?[0-9]+$"
_NUMBER = r"(?i)^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)$"
_BOOLEAN = r"(?i)^(true|false)$"


def parsed_integers(value: pa.Array) -> pa.Array:
    """`int(text)`, of decimal digits and a sign."""
    stripped = _checked(value, _INTEGER, "an integer")
    try:
        return pc.cast(pc.utf8_ltrim(stripped, "+"), pa.int64())
    except pa.ArrowInvalid:
        raise OverflowError("the integer does not fit into 64 bits") from None


def parsed_doubles(value: pa.Array) -> pa.Array:
    """`float(text)`."""
    return pc.cast(pc.utf8_ltrim(_checked(value, _NUMBER, "a number"), "+"), pa.float64())


def doubles_of_integers(value: pa.Array) -> pa.Array:
    """`float(n)` of integers that travel as text."""
    result = parsed_doubles(value)
    if pc.any(pc.is_inf(result)).as_py():
        raise OverflowError("the integer is too large for a float")
    return result


def parsed_booleans(value: pa.Array) -> pa.Array:
    """The booleans of `true` and `false`, in any case."""
    return pc.equal(pc.ascii_lower(_checked(value, _BOOLEAN, "true or false")), "true")


def parsed_times(value: pa.Array) -> pa.Array:
    """The times of day of texts such as `12:30:00`."""
    # Arrow reads times only as parts of timestamps.
    moments = joined(pa.scalar("1970-01-01 "), pc.utf8_trim(value, WHITESPACE))
    return pc.cast(pc.cast(moments, pa.timestamp("us")), pa.time64("us"))


def _checked(value: pa.Array, pattern: str, expected: str) -> pa.Array:
    stripped = pc.utf8_trim(value, WHITESPACE)
    misfits = pc.invert(pc.match_substring_regex(stripped, pattern))
    if pc.any(misfits).as_py():
        raise ValueError(f"{value.filter(misfits)[0].as_py()!r} is not {expected}")
    return stripped


def text_of_doubles(value: pa.Array) -> pa.Array:
    """`str(number)`: the shortest digits that give the same double."""
    # Arrow finds the same digits, but writes 1.0 as 1, and has its own idea of when an exponent is due.
    texts = pc.cast(value, pa.string())
    texts = pc.if_else(pc.match_substring(texts, "."), texts, joined(texts, pa.scalar(".0")))
    size = pc.abs(value)
    is_plain = pc.or_(pc.equal(size, 0.0), pc.and_(pc.greater_equal(size, 1e-4), pc.less(size, 1e10)))
    return python_where(pc.invert(is_plain), texts, str, value)


def text_of_booleans(value: pa.Array) -> pa.Array:
    """`True` and `False`."""
    return pc.if_else(value, "True", "False")


def text_of_times(value: pa.Array) -> pa.Array:
    """`str(moment)`: microseconds only where there are some."""
    return pc.replace_substring_regex(pc.cast(value, pa.string()), r"\.000000$", "")
