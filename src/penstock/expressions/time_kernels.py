"""Functions of dates and times on columns, with Python's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from penstock.common.calendar_columns import FIRST_MICROSECOND, LAST_MICROSECOND
from penstock.common.kernels import pc
from penstock.expressions.bound import Value
from penstock.expressions.number_kernels import floor_divide_integers, modulo_integers
from penstock.expressions.text_kernels import WHITESPACE, joined


def within_calendar(microseconds: Value) -> Value:
    """The same, or an error where Python has no such date."""
    outside = pc.or_(pc.less(microseconds, FIRST_MICROSECOND), pc.greater(microseconds, LAST_MICROSECOND))
    if pc.any(outside).as_py():
        raise OverflowError("the time is not between the years 1 and 9999")
    return microseconds


def microseconds(value: pa.Array) -> pa.Array:
    """Since 1970-01-01; of a date, those of its midnight."""
    return pc.cast(pc.cast(value, pa.timestamp("us")), pa.int64())


def timestamps(value: Value) -> pa.Array:
    """The timestamps of microseconds."""
    return pc.cast(within_calendar(value), pa.timestamp("us"))


def parsed(value: pa.Array, target: pa.DataType) -> pa.Array:
    """The dates or timestamps of texts."""
    # Arrow knows a year 0, and Python does not: the date would come back as a number.
    moments = pc.cast(pc.utf8_trim(value, WHITESPACE), target)
    within_calendar(microseconds(moments))
    return moments


def from_unix(value: pa.Array, unit: int) -> pa.Array:
    """Timestamps of numbers of a unit, which has so many microseconds."""
    return timestamps(pc.multiply_checked(value, unit))


def to_unix(value: pa.Array, unit: int) -> pa.Array:
    """Whole units since 1970-01-01, rounded down."""
    return floor_divide_integers(microseconds(value), pa.scalar(unit, pa.int64()))


def _microsecond(value: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(pc.millisecond(value), 1000), pc.microsecond(value))


PARTS_OF_DATES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "week": pc.iso_week,
    "day": pc.day,
    "day_of_week": lambda value: pc.day_of_week(value, count_from_zero=False, week_start=1),
    "day_of_year": pc.day_of_year,
}
PARTS_OF_TIMES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "millisecond": pc.millisecond,
    "microsecond": _microsecond,
}


def part(value: pa.Array, name: str) -> pa.Array:
    """A part of a date or time, a number."""
    return pc.cast((PARTS_OF_DATES.get(name) or PARTS_OF_TIMES[name])(value), pa.int64())


def truncated(value: pa.Array, unit: str) -> pa.Array:
    """The beginning of the unit that a date or time is in; weeks begin on Monday."""
    return pc.floor_temporal(value, unit=unit)


def floored(value: pa.Array, step: int) -> pa.Array:
    """The last multiple of a step since 1970-01-01 that is not after a timestamp."""
    at = microseconds(value)
    return timestamps(pc.subtract(at, modulo_integers(at, pa.scalar(step, pa.int64()))))


def shifted(value: pa.Array, by: int) -> pa.Array:
    """A date or timestamp so many microseconds later."""
    moved = timestamps(pc.add_checked(microseconds(value), by))
    return moved if pa.types.is_timestamp(value.type) else pc.cast(moved, value.type)


Piece = tuple[str, str, int]
"""A part of a text: itself, or the name of a part of the time and the width of its digits."""


def formatted_times(value: pa.Array, pieces: Sequence[Piece]) -> pa.Array:
    """Texts made of parts of times and of what stands between them."""
    texts: list[Value] = [_digits(value, name, width) if name else pa.scalar(plain) for plain, name, width in pieces]
    # Without any digits the time has no say in the text, but that there is one.
    return joined(*texts) if any(name for _, name, _ in pieces) else joined(*texts, _empty(value))


def _digits(value: pa.Array, name: str, width: int) -> pa.Array:
    digits = pc.utf8_lpad(pc.cast(part(value, name), pa.string()), width, "0")
    return pc.utf8_slice_codeunits(digits, start=-width) if name == "year" and width == 2 else digits


def _empty(value: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_valid(value), "", pa.scalar(None, pa.string()))
