"""Joins a record with rows of a table that have its key."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from itertools import chain
from typing import Any

from penstock.common.errors import MissingTimestampError, TypeMismatchError
from penstock.common.time import Instant
from penstock.functions.adapt import join_callable
from penstock.functions.join_kind import JoinKind
from penstock.functions.process import ProcessFunction
from penstock.state.time_buckets import BucketsOfKey

_ALWAYS = 0
"""The time of rows, and of the records that look for them, where rows hold for ever."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


class TableLookupFunction(ProcessFunction):
    """Joins records with the rows of a table that it has."""

    valid_from: str | None
    """The column that says since when a row holds: records need a time then. None: rows hold for ever."""


class TableLookup:
    """Calls the join function. With `valid_from`, a row holds from the time in that column until the next one does."""

    def __init__(self, function: Any, join_kind: JoinKind, valid_from: str | None) -> None:
        self._join = join_callable(function)
        self._keeps_record = join_kind.keeps_left
        self._valid_from = valid_from

    def time_of_row(self, row: Any) -> int:
        """Since when a row holds, in ms; times without a zone are UTC."""
        return _ALWAYS if self._valid_from is None else _millis(row[self._valid_from], self._valid_from)

    def joined(self, record: Any, timestamp: int | None, rows_of_key: BucketsOfKey | None) -> Iterable[Any] | None:
        """The results of a record: of each row that holds at its time."""
        time = _ALWAYS
        if self._valid_from is not None:
            if timestamp is None:
                raise MissingTimestampError(
                    f"a record without a timestamp came to lookup_join, which compares it with '{self._valid_from}'; "
                    "call `assign_timestamps_and_watermarks(...)` on the stream before"
                )
            time = timestamp
        rows = None if rows_of_key is None else rows_of_key.before(time)
        if rows is None:
            return self._join(record, None) if self._keeps_record else None
        if len(rows) == 1:
            return self._join(record, rows[0])
        return chain.from_iterable(self._join(record, row) or () for row in rows)


def _millis(value: Any, column: str) -> int:
    match value:
        case bool():
            pass
        case int():
            return value
        case datetime.datetime():
            return (value.replace(tzinfo=value.tzinfo or datetime.UTC) - _EPOCH) // _MILLISECOND
        case datetime.date():
            return (datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC) - _EPOCH) // _MILLISECOND
        case Instant():
            return value.to_epoch_milli()
        case _:
            pass
    raise TypeMismatchError(
        f"the column '{column}' of the table has {value!r}; expected the time since when a row holds: a timestamp, a "
        "date, or a number of milliseconds since 1970"
    )
