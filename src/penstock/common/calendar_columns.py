"""Columns of times that Python has: those of the years 1 to 9999. Arrow knows others, which come back as numbers."""

from __future__ import annotations

import datetime

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.nested_columns import columns_inside

_CALENDAR = {
    kind: (pa.scalar(datetime.datetime.min, kind).value, pa.scalar(datetime.datetime.max, kind).value)
    for kind in (pa.timestamp("us"), pa.date32())
}
"""The first and the last time, as columns of a type have them."""
FIRST_MICROSECOND, LAST_MICROSECOND = _CALENDAR[pa.timestamp("us")]


def is_within_calendar(column: pa.Array) -> bool:
    """Whether Python has all dates and timestamps of a column, and of the columns inside of it."""
    calendar = _CALENDAR.get(column.type)
    if calendar is not None:
        least, greatest = (pc.min_max(column)[end].value for end in ("min", "max"))
        return least is None or (least >= calendar[0] and greatest <= calendar[1])
    return all(map(is_within_calendar, columns_inside(column)))
