"""Checks of what assigners, triggers and evictors are made with. Every refusal names the user's line."""

from __future__ import annotations

from datetime import timedelta
from math import isnan
from typing import Any

from penstock.common.call_site import capture_call_site
from penstock.common.errors import ArgumentError, ConfigurationError, PlanError
from penstock.common.time import Duration, DurationLike, Time, parse_duration


def refuse(message: str) -> PlanError:
    """The error for a window that cannot be, with the line that asked for it."""
    return PlanError(f"{message}\n  at {capture_call_site()}")


def refuse_argument(maker: str, argument: str, value: object, expected: str) -> ArgumentError:
    """The error for an argument of the wrong kind."""
    return ArgumentError(
        f"{maker}: `{argument}` is {value!r} ({type(value).__name__}); expected {expected}\n  at {capture_call_site()}"
    )


def positive_millis(maker: str, argument: str, value: DurationLike) -> int:
    """A length of time of at least a millisecond."""
    millis = offset_millis(maker, argument, value)
    if millis <= 0:
        raise refuse(f"{maker}: `{argument}` is {_shown(value, millis)}; expected a duration of at least 1 ms")
    return millis


def lateness_millis(maker: str, argument: str, value: DurationLike) -> int:
    """A length of time that may be zero."""
    millis = offset_millis(maker, argument, value)
    if millis < 0:
        raise refuse(f"{maker}: `{argument}` is {_shown(value, millis)}; expected a duration that is not negative")
    return millis


def offset_millis(maker: str, argument: str, value: DurationLike) -> int:
    """A length of time, which may be negative: windows can begin before midnight UTC."""
    match value:
        case Time():
            millis = value.to_milliseconds()
        case Duration():
            millis = value.to_millis()
        case timedelta():
            millis = value // timedelta(milliseconds=1)
        case str():
            millis = _millis_of_text(value.strip())
        case _:
            millis = value
    # A Time or a Duration may be made of anything.
    if isinstance(millis, bool) or not isinstance(millis, int):
        expected = 'a Time, a Duration, a timedelta, text such as "10 s", or a whole number of milliseconds'
        raise refuse_argument(maker, argument, value, expected)
    return millis


def _millis_of_text(text: str) -> int | None:
    try:
        return -parse_duration(text[1:]) if text.startswith("-") else parse_duration(text)
    except ConfigurationError:
        return None


def checked_offset(maker: str, offset: DurationLike, length: int, argument: str) -> int:
    """An offset, which is less than what it shifts."""
    millis = offset_millis(maker, "offset", offset)
    if abs(millis) >= length:
        raise refuse(f"{maker}: `offset` is {millis} ms; expected less than the {argument}, which is {length} ms")
    return millis


def positive_count(maker: str, argument: str, value: Any) -> int:
    """A number of records from 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse_argument(maker, argument, value, "a number of records")
    if value < 1:
        raise refuse(f"{maker}: `{argument}` is {value}; expected at least 1 record")
    return value


def number(maker: str, argument: str, value: Any) -> float:
    """A number that can be compared: not NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        raise refuse_argument(maker, argument, value, "a number")
    return value


def _shown(value: DurationLike, millis: int) -> str:
    return f"{value!r} ({millis} ms)"
