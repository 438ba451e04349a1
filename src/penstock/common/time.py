"""Lengths of time and points in time, and the one place that reads a duration however it is written."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from penstock.common.errors import ConfigurationError

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000
_LEAST_LONG, _GREATEST_LONG = -(1 << 63), (1 << 63) - 1


class Duration:
    """A length of time, to the nanosecond."""

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        self._nanos = nanos

    @staticmethod
    def of_days(days: int) -> Duration:
        """So many days of 24 hours."""
        return Duration.of_hours(days * 24)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """So many hours."""
        return Duration.of_minutes(hours * 60)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """So many minutes."""
        return Duration.of_seconds(minutes * 60)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """So many seconds."""
        return Duration(seconds * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """So many milliseconds."""
        return Duration(millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """So many nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """The whole milliseconds."""
        return self._nanos // _NANOS_PER_MILLI

    def to_nanos(self) -> int:
        """The nanoseconds."""
        return self._nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __hash__(self) -> int:
        return hash((Duration, self._nanos))

    def __repr__(self) -> str:
        return f"Duration<{self._nanos / _NANOS_PER_SECOND:g} s>"


class Instant:
    """A point on the time line: seconds since 1970-01-01T00:00:00Z and nanoseconds within the second."""

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        self.seconds = seconds
        self.nanos = nanos

    def to_epoch_milli(self) -> int:
        """The whole milliseconds since 1970-01-01T00:00:00Z."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The instant so many milliseconds after 1970-01-01T00:00:00Z."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and self.seconds == other.seconds and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash((Instant, self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time:
    """A length of time in milliseconds, as windows take it."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def to_milliseconds(self) -> int:
        """The milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """So many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """So many seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """So many minutes."""
        return Time.seconds(minutes * 60)

    @staticmethod
    def hours(hours: int) -> Time:
        """So many hours."""
        return Time.minutes(hours * 60)

    @staticmethod
    def days(days: int) -> Time:
        """So many days of 24 hours."""
        return Time.hours(days * 24)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash((Time, self._milliseconds))

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time<{self._milliseconds} ms>"


DurationLike = int | str | timedelta | Duration | Time
"""Whatever `parse_duration` takes."""

_NANOS_OF_UNIT = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), 1000),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), _NANOS_PER_MILLI),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), _NANOS_PER_SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60 * _NANOS_PER_SECOND),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * _NANOS_PER_SECOND),
    **dict.fromkeys(("d", "day", "days"), 86_400 * _NANOS_PER_SECOND),
}
_NUMBER_AND_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zµ]*)", re.IGNORECASE)
_ISO_8601 = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII | re.IGNORECASE)


def parse_duration(value: DurationLike) -> int:
    """A duration in whole milliseconds, from text, `timedelta`, `Time`, `Duration` or a number of them.

    >>> parse_duration("10 s"), parse_duration("1.5 min"), parse_duration("PT1H"), parse_duration(250)
    (10000, 90000, 3600000, 250)
    """
    match value:
        case bool():
            raise _not_a_duration(value)
        case int():
            millis = value
        case Time():
            millis = value.to_milliseconds()
        case Duration():
            millis = value.to_millis()
        case timedelta():
            millis = value // timedelta(milliseconds=1)
        case str():
            millis = _nanos_of_text(value) // _NANOS_PER_MILLI
        case _:  # pyright: ignore[reportUnnecessaryComparison]
            raise _not_a_duration(value)
    if not isinstance(millis, int):  # pyright: ignore[reportUnnecessaryIsInstance] (a Time may be made of anything)
        raise _not_a_duration(value)
    if millis < 0:
        raise ConfigurationError(f"a duration cannot be negative, got {value!r}")
    return millis


def whole_milliseconds(given: Any) -> int:
    """A point in time that a function gave: of a number that is not whole, what stands before the point, as in PyFlink.

    Raises what Python raises for what is no number of milliseconds of 64 bits.
    """
    millis = given if type(given) is int else type(given).__int__(given)
    if not _LEAST_LONG <= millis <= _GREATEST_LONG:
        raise OverflowError
    return millis


def _nanos_of_text(text: str) -> int:
    stripped = text.strip()
    simple = _NUMBER_AND_UNIT.fullmatch(stripped)
    if simple and simple[2].lower() in _NANOS_OF_UNIT:
        return _scaled(simple[1], _NANOS_OF_UNIT[simple[2].lower()])
    iso = _ISO_8601.fullmatch(stripped)
    if iso and any(iso.groups()):
        units = (86_400, 3600, 60, 1)
        return sum(
            _scaled(number, unit * _NANOS_PER_SECOND)
            for number, unit in zip(iso.groups(), units, strict=True)
            if number
        )
    raise _not_a_duration(text)


def _scaled(number: str, unit: int) -> int:
    whole, _, fraction = number.partition(".")
    return int(whole) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def _not_a_duration(value: object) -> ConfigurationError:
    return ConfigurationError(
        f'{value!r} is not a duration; give text such as "10 s", "200 ms", "1 min", "2 h", "1 d" or "PT10S", '
        "a timedelta, a Time, a Duration or a number of milliseconds"
    )
