"""Follows a table by a column that rises: ids, or times of change."""
# ruff: noqa: S608 (names are quoted and values are parameters)

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.connectors.jdbc.database import Cursor
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.placeholders import translated
from penstock.connectors.jdbc.table_reader import Bounds, TableQuery
from penstock.connectors.jdbc.table_slices import position
from penstock.connectors.source import EnumeratorContext, EpochBudget, SplitEnumerator, SplitRead

_SPLIT = "rows"
_POSITION = "position"
_STOP = "stop"
_ENDED = "ended"


@dataclass(frozen=True)
class Following:
    """How a table is followed."""

    start: Any = None
    """Rows behind this value are read; None: all."""
    poll_interval_ms: int = 1000
    lag_ms: int = 0
    waits_for_open_transactions: bool = True
    is_bounded: bool = False


class _Candidate(NamedTuple):
    end: Any
    mark: Any


class TableFollower(SplitEnumerator):
    """One split. State: the value up to which rows have been handed out; where a bounded source stops."""

    def __init__(self, query: TableQuery, following: Following, context: EnumeratorContext) -> None:
        self._query = query
        self._following = following
        self._ends = following.is_bounded or context.bounded
        self._state = context.state
        self._database = database_of(query.connection)
        self._session = query.session(self._database)
        self._candidate: _Candidate | None = None
        self._asks_again = 0

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        """Rows behind the last ones, up to a value that no open transaction can come before any more."""
        if now < self._asks_again or self.is_exhausted():
            return []
        end = self._session.transaction(lambda cursor: self._end(cursor, budget.max_records))
        if end is None:
            if not self._ends:
                self._asks_again = now + self._following.poll_interval_ms
            return []
        start = self._state.get(_POSITION, self._following.start)
        self._state[_POSITION] = end
        self._candidate = None
        finishes = self._ends and end == self._state.get(_STOP)
        if finishes:
            self._state[_ENDED] = True
        bounds = Bounds(start, False, end, True)
        return [SplitRead(_SPLIT, start, end, {"bounds": bounds.to_json()}, finishes=finishes)]

    def is_exhausted(self) -> bool:
        """Whether a bounded source has been read."""
        return self._state.get(_ENDED, False)

    def live_splits(self) -> Collection[str]:
        """The one split, until it ends."""
        return () if self.is_exhausted() else (_SPLIT,)

    def next_poll(self, now: int) -> int:
        """After the poll interval; sooner while rows wait for open transactions."""
        return now + 10 if self._candidate is not None else max(now + 1, self._asks_again)

    def close(self) -> None:
        """Lets go of the connection."""
        self._session.close()

    def _end(self, cursor: Cursor, max_records: int) -> Any:
        """Up to where the next read goes; None where there is nothing to read now."""
        if self._ends and _STOP not in self._state:
            self._state[_STOP] = self._greatest(cursor, None)
            if self._state[_STOP] is None:
                self._state[_ENDED] = True
        if self._state.get(_ENDED, False):
            return None
        if self._candidate is None:
            end = self._greatest(cursor, max_records)
            if end is None:
                return None
            # Taken after the look at the rows: whoever wrote before them has a lower number.
            self._candidate = _Candidate(end, self._database.settled_mark(cursor))
        waits = self._following.waits_for_open_transactions and not self._ends
        if waits and self._candidate.mark is not None and not self._database.is_settled(cursor, self._candidate.mark):
            return None
        return self._candidate.end

    def _greatest(self, cursor: Cursor, limit: int | None) -> Any:
        """The greatest value among the next rows, as JSON."""
        database, column = self._database, self._query.ordered_by
        assert column is not None
        name, table = database.quoted(column.name), database.quoted_table(self._query.table)
        start = self._state.get(_POSITION, self._following.start)
        bounds = Bounds(start, False, self._state.get(_STOP), True)
        condition, parameters = bounds.condition(database, column)
        if self._following.lag_ms:
            condition += f"{' AND ' if condition else ' WHERE '}{database.older_than(name)}"
            parameters.append(self._following.lag_ms / 1000)
        if limit is None:
            sql = f"SELECT max({name}) FROM {table}{condition}"
        else:
            # Rows without a value come at the end in some databases, and are no part of it in any.
            condition += f"{' AND ' if condition else ' WHERE '}{name} IS NOT NULL"
            sql = f"SELECT max(c) FROM (SELECT {name} AS c FROM {table}{condition} ORDER BY {name} LIMIT ?) AS w"
            parameters.append(limit)
        cursor.execute(translated(sql, database.placeholder).sql, parameters)
        return position(cursor.fetchone()[0])
