"""The methods of expressions that are dates and times."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.common.time import Duration, Time
from penstock.expressions.argument_checks import check_text, refused
from penstock.expressions.expression_methods import ExpressionMethods
from penstock.expressions.time_functions import (
    UNITS_OF_DATES,
    UNITS_OF_TIMES,
    DateFormat,
    DateTrunc,
    FloorTo,
    FromUnix,
    TimePart,
    ToUnix,
    in_microseconds,
    pieces_of,
)

if TYPE_CHECKING:
    from penstock.expressions.expression import Expression


class TimeMethods(ExpressionMethods):
    """Methods of timestamps, dates and times of day, none of which has a time zone."""

    def from_unix_millis(self) -> Expression:
        """The timestamp so many milliseconds after 1970-01-01 00:00, of an integer.

        >>> from penstock.expressions import col
        >>> col("ts").from_unix_millis().hour()
        col("ts").from_unix_millis().hour()
        """
        return self._made(FromUnix("millis"))

    def from_unix_seconds(self) -> Expression:
        """The timestamp so many seconds after 1970-01-01 00:00, of an integer."""
        return self._made(FromUnix("seconds"))

    def from_unix_micros(self) -> Expression:
        """The timestamp so many microseconds after 1970-01-01 00:00, of an integer."""
        return self._made(FromUnix("micros"))

    def unix_millis(self) -> Expression:
        """The milliseconds from 1970-01-01 00:00 to a timestamp, or to the midnight of a date, rounded down."""
        return self._made(ToUnix("millis"))

    def unix_seconds(self) -> Expression:
        """The seconds from 1970-01-01 00:00 to a timestamp, or to the midnight of a date, rounded down."""
        return self._made(ToUnix("seconds"))

    def unix_micros(self) -> Expression:
        """The microseconds from 1970-01-01 00:00 to a timestamp, or to the midnight of a date."""
        return self._made(ToUnix("micros"))

    def year(self) -> Expression:
        """The year of a timestamp or a date."""
        return self._made(TimePart("year"))

    def quarter(self) -> Expression:
        """The quarter of the year, from 1 to 4."""
        return self._made(TimePart("quarter"))

    def month(self) -> Expression:
        """The month, from 1 to 12."""
        return self._made(TimePart("month"))

    def week(self) -> Expression:
        """The number of the week by ISO 8601, from 1 to 53."""
        return self._made(TimePart("week"))

    def day(self) -> Expression:
        """The day of the month, from 1."""
        return self._made(TimePart("day"))

    def day_of_week(self) -> Expression:
        """The day of the week, from 1 (Monday) to 7 (Sunday), as `isoweekday()`."""
        return self._made(TimePart("day_of_week"))

    def day_of_year(self) -> Expression:
        """The day of the year, from 1."""
        return self._made(TimePart("day_of_year"))

    def hour(self) -> Expression:
        """The hour of a timestamp or a time, from 0."""
        return self._made(TimePart("hour"))

    def minute(self) -> Expression:
        """The minute, from 0."""
        return self._made(TimePart("minute"))

    def second(self) -> Expression:
        """The second, from 0."""
        return self._made(TimePart("second"))

    def millisecond(self) -> Expression:
        """The millisecond of the second, from 0 to 999."""
        return self._made(TimePart("millisecond"))

    def microsecond(self) -> Expression:
        """The microsecond of the second, from 0 to 999999, as `datetime.microsecond`."""
        return self._made(TimePart("microsecond"))

    def date_trunc(self, unit: str) -> Expression:
        """The beginning of the year, quarter, month, week, day, hour, minute, second or millisecond that a time is in.

        Weeks begin on Monday.

        >>> from penstock.expressions import col
        >>> col("at").date_trunc("month")
        col("at").date_trunc("month")
        """
        if unit not in (*UNITS_OF_DATES, *UNITS_OF_TIMES):
            raise refused(f"date_trunc takes one of {', '.join((*UNITS_OF_DATES, *UNITS_OF_TIMES))}, got {unit!r}")
        return self._made(DateTrunc(unit))

    def floor_to(self, duration: timedelta | Duration | Time) -> Expression:
        """The last multiple of a duration since 1970-01-01, `timedelta(minutes=5)` say, that is not after the time."""
        step = as_timedelta(duration)
        if step is None or in_microseconds(step) <= 0:
            raise refused(f"floor_to takes a duration such as timedelta(minutes=5), got {duration!r}")
        return self._made(FloorTo(step))

    def date_format(self, pattern: str) -> Expression:
        """A time as text: `yyyy` or `yy`, `MM`, `dd`, `DDD` (day of the year), `HH`, `mm`, `ss`, `SSS`, `SSSSSS`.

        All are digits, with zeros before them. Other letters stand in single quotes, and two of them are one in the
        text; what is no letter stands for itself.

        >>> from penstock.expressions import col
        >>> col("at").date_format("yyyy-MM-dd'T'HH:mm")
        col("at").date_format("yyyy-MM-dd'T'HH:mm")
        """
        try:
            pieces_of(check_text("date_format", pattern))
        except ValueError as error:
            raise refused(f"date_format: {pattern!r}: {error}") from None
        return self._made(DateFormat(pattern))


def as_timedelta(duration: object) -> timedelta | None:
    """A duration in Python's form; None where it is none, or one that has parts of microseconds."""
    if isinstance(duration, timedelta):
        return duration
    if isinstance(duration, Time):
        return timedelta(milliseconds=duration.to_milliseconds())
    if isinstance(duration, Duration) and duration.to_nanos() % 1000 == 0:
        return timedelta(microseconds=duration.to_nanos() // 1000)
    return None
