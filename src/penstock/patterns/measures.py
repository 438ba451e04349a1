"""Rows of measures, made of matches: what SQL's MATCH_RECOGNIZE gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from penstock.common.row import Row
from penstock.patterns.process_function import Match, MatchedEvents, PatternProcessFunction

Measure = Callable[[Match], Any]
"""Computes a value of the events of a match; with a row an event, of those up to it."""


class RowsPerMatch(Enum):
    """How many rows a match makes."""

    ONE = "one"
    ALL = "all"
    """One for each of its events."""


class MatchMeasures(PatternProcessFunction[Any, Row]):
    """Computes named measures.

    With `RowsPerMatch.ONE` a row has the key's fields (`key_names`) and the measures. With `ALL` it is for one event of
    the match: `fields_of` gives the event's own fields, which come first, and measures see the events up to this one.
    """

    def __init__(
        self,
        measures: Mapping[str, Measure],
        rows: RowsPerMatch = RowsPerMatch.ONE,
        *,
        key_names: tuple[str, ...] = (),
        fields_of: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        self.measures = dict(measures)
        self.rows = rows
        self._key_names = key_names
        self._fields_of = fields_of

    def process_match(self, match: MatchedEvents, ctx: PatternProcessFunction.Context) -> Iterable[Row]:
        """One row, or one for each event."""
        if self.rows is RowsPerMatch.ONE:
            yield Row(**self._key_fields(ctx), **self._measured(match))
            return
        so_far: dict[str, list[Any]] = {}
        for name, event in match.in_order:
            so_far.setdefault(name, []).append(event)
            fields = {} if self._fields_of is None else self._fields_of(event)
            yield Row(**fields, **self._measured(so_far))

    def _measured(self, match: Match) -> dict[str, Any]:
        return {name: measure(match) for name, measure in self.measures.items()}

    def _key_fields(self, ctx: PatternProcessFunction.Context) -> dict[str, Any]:
        if not self._key_names:
            return {}
        key = ctx.get_current_key()
        return dict(zip(self._key_names, key if len(self._key_names) > 1 else (key,), strict=True))
