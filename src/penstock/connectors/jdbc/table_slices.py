"""Reads a table once, in slices side by side."""
# ruff: noqa: S608 (names are quoted and values are parameters)

from __future__ import annotations

from itertools import pairwise
from typing import Any

from penstock.common.errors import SourceError
from penstock.common.time import Instant
from penstock.connectors.jdbc.database import Cursor
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.table_reader import Bounds, TableQuery
from penstock.connectors.json.encoding import jsonable
from penstock.connectors.source import EnumeratorContext, EpochBudget, SplitEnumerator, SplitRead

_SLICE_ROWS = 100_000
_SLICES = "slices"
_NEXT = "next"
_ROWS = "rows"


class SliceEnumerator(SplitEnumerator):
    """Each slice is a split, read as a whole. State: the slices, and how many have been handed out."""

    def __init__(self, query: TableQuery, slices: int | None, context: EnumeratorContext) -> None:
        self._query = query
        self._wanted = slices
        self._parallelism = context.parallelism
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        """As many slices as the budget allows, one at least."""
        if _SLICES not in self._state:
            # Decided once: a restart reads the same slices, whatever the table looks like by then.
            slices, rows = self._cut()
            self._state.update({_SLICES: slices, _ROWS: rows, _NEXT: 0})
        first: int = self._state[_NEXT]
        slices = self._state[_SLICES]
        affordable = max(1, budget.max_records // max(1, self._state[_ROWS] // len(slices)))
        last = min(len(slices), first + affordable)
        self._state[_NEXT] = last
        return [
            SplitRead(str(place), place, place + 1, {"bounds": slices[place]}, finishes=True)
            for place in range(first, last)
        ]

    def is_exhausted(self) -> bool:
        """Whether all slices have been handed out."""
        return _SLICES in self._state and self._state[_NEXT] >= len(self._state[_SLICES])

    def _cut(self) -> tuple[list[Any], int]:
        database = database_of(self._query.connection)
        session = self._query.session(database)
        column = self._query.ordered_by

        def look(cursor: Cursor) -> tuple[int | None, Any, Any]:
            rows = database.estimated_rows(cursor, self._query.table)
            if column is None:
                return rows, None, None
            name = database.quoted(column.name)
            cursor.execute(f"SELECT min({name}), max({name}) FROM {database.quoted_table(self._query.table)}")
            return rows, *cursor.fetchone()

        try:
            rows, low, high = session.transaction(look)
        finally:
            session.close()
        if low is None:
            return [Bounds().to_json()], rows or 0
        if isinstance(low, str):
            raise SourceError(f"the table {self._query.table} cannot be cut into slices by texts such as {low!r}")
        if rows is None:
            rows = high - low + 1 if isinstance(low, int) else _SLICE_ROWS
        count = self._wanted or max(self._parallelism, -(-rows // _SLICE_ROWS))
        edges = sorted({low + (high - low) * place // count for place in range(count)})
        bounds = [
            Bounds(None if start == low else position(start), True, position(end), with_nulls=start == low)
            for start, end in pairwise(edges)
        ]
        # Rows that come in behind the greatest value while the table is read are not part of it.
        last = edges[-1]
        bounds.append(Bounds(None if last == low else position(last), True, position(high), True, last == low))
        return [each.to_json() for each in bounds], rows


def position(value: Any) -> Any:
    """A value of an ordering column as JSON; `Database.position_value` makes a parameter of it again."""
    if value is None or isinstance(value, int | str):
        return value
    if isinstance(value, Instant):
        return jsonable(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
