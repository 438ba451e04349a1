"""Functions of dates and times."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from penstock.common.errors import PlanError
from penstock.common.typeinfo import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo, TypeInformation, Types
from penstock.expressions import time_kernels
from penstock.expressions.bound import BoundExpression, BoundKernel, converted
from penstock.expressions.operation import MethodOperation, Operation, require, unsuitable
from penstock.expressions.time_kernels import PARTS_OF_DATES, PARTS_OF_TIMES, Piece
from penstock.expressions.type_rules import LONG, STRING, ExpressionType, is_integer

TIMESTAMP = Types.SQL_TIMESTAMP()
_LONGEST = timedelta(days=10_000_000)
UNIX_UNITS = {"seconds": 1_000_000, "millis": 1_000, "micros": 1}
"""In microseconds."""
UNITS_OF_DATES = ("year", "quarter", "month", "week", "day")
UNITS_OF_TIMES = ("hour", "minute", "second", "millisecond")


def _has_date(given: ExpressionType) -> bool:
    return isinstance(given, DateTypeInfo | TimestampTypeInfo)


def _has_time(given: ExpressionType) -> bool:
    return isinstance(given, TimeTypeInfo | TimestampTypeInfo)


def _is_timestamp(given: ExpressionType) -> bool:
    return isinstance(given, TimestampTypeInfo)


@dataclass(frozen=True)
class FromUnix(MethodOperation):
    """A timestamp of a number of seconds, milliseconds or microseconds since 1970-01-01."""

    unit: str

    @property
    def method(self) -> str:
        return f"from_unix_{self.unit}"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_integer, "an integer")
        microseconds = UNIX_UNITS[self.unit]
        operand = converted(operands[0], LONG)
        return BoundKernel(text, TIMESTAMP, (operand,), lambda value: time_kernels.from_unix(value, microseconds))


@dataclass(frozen=True)
class ToUnix(MethodOperation):
    """The number of seconds, milliseconds or microseconds since 1970-01-01."""

    unit: str

    @property
    def method(self) -> str:
        return f"unix_{self.unit}"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, _has_date, "a timestamp or a date")
        microseconds = UNIX_UNITS[self.unit]
        return BoundKernel(text, LONG, operands, lambda value: time_kernels.to_unix(value, microseconds))


@dataclass(frozen=True)
class TimePart(MethodOperation):
    """A part of a date or time: `year`, `hour`, ..."""

    name: str

    @property
    def method(self) -> str:
        return self.name

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        if self.name in PARTS_OF_DATES:
            require(text, operands, _has_date, "a timestamp or a date")
        else:
            require(text, operands, _has_time, "a timestamp or a time")
        name = self.name
        return BoundKernel(text, LONG, operands, lambda value: time_kernels.part(value, name))


@dataclass(frozen=True)
class DateTrunc(MethodOperation):
    """The beginning of the unit that a time is in."""

    unit: str

    @property
    def method(self) -> str:
        return "date_trunc"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.unit,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        if self.unit in UNITS_OF_DATES:
            require(text, operands, _has_date, "a timestamp or a date")
        else:
            require(text, operands, _is_timestamp, "a timestamp")
        unit = self.unit
        return BoundKernel(text, operands[0].type, operands, lambda value: time_kernels.truncated(value, unit))


@dataclass(frozen=True)
class FloorTo(MethodOperation):
    """The last multiple of a duration that is not after a timestamp."""

    step: timedelta

    @property
    def method(self) -> str:
        return "floor_to"

    @property
    def arguments(self) -> Sequence[object]:
        return (_Shown(self.step),)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, _is_timestamp, "a timestamp")
        step = in_microseconds(self.step)
        return BoundKernel(text, TIMESTAMP, operands, lambda value: time_kernels.floored(value, step))


@dataclass(frozen=True)
class Shift(Operation):
    """A time plus or minus a duration."""

    symbol: str
    duration: timedelta

    @property
    def is_infix(self) -> bool:
        return True

    def render(self, operands: Sequence[str]) -> str:
        return f"{operands[0]} {self.symbol} {_Shown(self.duration)!r}"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, _has_date, "a timestamp or a date")
        (operand,) = operands
        by = in_microseconds(self.duration) * (-1 if self.symbol == "-" else 1)
        if isinstance(operand.type, DateTypeInfo) and self.duration % timedelta(days=1):
            raise PlanError(f"`{text}`: `{operand.text}` is a date, and {self.duration!r} is no whole number of days")
        return BoundKernel(text, operand.type, operands, lambda value: time_kernels.shifted(value, by))


def in_microseconds(duration: timedelta) -> int:
    """A duration as a number of 64 bits. What is longer than the calendar leads out of it, however long it is."""
    return max(-_LONGEST, min(duration, _LONGEST)) // timedelta(microseconds=1)


class _Shown:
    """A duration as programs write it."""

    def __init__(self, duration: timedelta) -> None:
        self._duration = duration

    def __repr__(self) -> str:
        return repr(self._duration).removeprefix("datetime.")


_PATTERN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<plain>[^A-Za-z']+)")
_LETTERS = {
    "yyyy": ("year", 4),
    "yy": ("year", 2),
    "MM": ("month", 2),
    "dd": ("day", 2),
    "DDD": ("day_of_year", 3),
    "HH": ("hour", 2),
    "mm": ("minute", 2),
    "ss": ("second", 2),
    "SSS": ("millisecond", 3),
    "SSSSSS": ("microsecond", 6),
}


def pieces_of(pattern: str) -> list[Piece]:
    """What a pattern is made of; raises `ValueError` where it is none."""
    pieces: list[Piece] = []
    at = 0
    while at < len(pattern):
        found = _PATTERN.match(pattern, at)
        if found is None:
            raise ValueError(f"the quote at place {at} is not closed")
        at = found.end()
        letters = found["letters"]
        if letters is None:
            # A quote is written twice, be it between others or not.
            pieces.append((found["plain"] or found["quoted"].replace("''", "'") or "'", "", 0))
        elif letters in _LETTERS:
            pieces.append(("", *_LETTERS[letters]))
        else:
            raise ValueError(f"{letters!r} means nothing; there are {', '.join(_LETTERS)}, and 'text' in quotes")
    return pieces


@dataclass(frozen=True)
class DateFormat(MethodOperation):
    """A time as text, by a pattern."""

    pattern: str

    @property
    def method(self) -> str:
        return "date_format"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.pattern,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        pieces = pieces_of(self.pattern)
        names = {name for _, name, _ in pieces if name}
        (operand,) = operands
        if not (_has_date(operand.type) or _has_time(operand.type)):
            raise unsuitable(text, operand, "a timestamp, a date or a time")
        if names & PARTS_OF_DATES.keys():
            require(text, operands, _has_date, "a timestamp or a date")
        if names & PARTS_OF_TIMES.keys():
            require(text, operands, _has_time, "a timestamp or a time")
        return BoundKernel(text, STRING, operands, lambda value: time_kernels.formatted_times(value, pieces))
