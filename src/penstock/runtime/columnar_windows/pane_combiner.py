"""Partial aggregates of records on their way to their windows: one row for every key and pane, where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from penstock.common.dictionary_keys import DictionaryKeys
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.runtime.columnar_windows.key_numbers import Numbers
from penstock.runtime.columnar_windows.partial_rows import partial_rows
from penstock.runtime.columnar_windows.parts import Columns, PartialRows
from penstock.runtime.pane_groups import PaneGroups, are_few
from penstock.windows.assigner import AlignedWindowAssigner
from penstock.windows.definition import WindowDefinition


class Partials(NamedTuple):
    """Partial aggregates, each of some records of one key in one pane."""

    keys: DictionaryKeys
    columns: Columns
    """The starts of panes, then the columns of the aggregates, with the number of records among them."""


class PartialsCodec:
    """The columns of partial aggregates; nobody sees them as values."""

    def __init__(self, aggregates: PartialRows, *, has_records: bool) -> None:
        number = pa.field("records", pa.int64())
        parts = [pa.field(str(place), part) for place, part in enumerate(aggregates.types[: aggregates.number])]
        self.schema: pa.Schema | None = pa.schema(
            [pa.field("pane", pa.int64()), *parts, *([number] if has_records else [])]
        )

    def to_columns(self, values: Sequence[Any]) -> NoReturn:
        """Not called: they are made as columns."""
        raise NotImplementedError

    def to_values(self, columns: Sequence[pa.Array]) -> NoReturn:
        """Not called."""
        raise NotImplementedError


class PaneCombiner:
    """Combines records of the same key and pane before they are sent; each row knows of how many it is made."""

    def __init__(self, definition: WindowDefinition) -> None:
        assert isinstance(definition.assigner, AlignedWindowAssigner)
        self._aggregates = partial_rows(definition, counts_records=True)
        self._groups = PaneGroups(definition.assigner)
        self.codec = PartialsCodec(self._aggregates, has_records=len(self._aggregates.types) > self._aggregates.number)

    def of_records(
        self, columns: Sequence[pa.Array], count: int, stamps: pa.Array | None, keys: DictionaryKeys
    ) -> Partials | None:
        """The partial aggregates of records; None where they would be as many, or a record has no time, or fails."""
        if not are_few(len(keys.distinct), count):
            return None
        panes = self._groups.panes_of(stamps, count)
        if panes is None:
            return None
        try:
            rows = self._aggregates.of_records(columns, count, np.arange(count))
        except RecordEvaluationError:
            return None  # a record that fails may be late, and then it fails nothing
        made = self._combined(keys, panes, rows)
        if made is None or not are_few(len(made.keys.codes), count):
            return None
        return made

    def merged(self, keys: DictionaryKeys, columns: Columns) -> Partials:
        """The same with every key and pane once, where their sums allow it. Rows come in the order of their records."""
        panes, *parts = columns
        return self._combined(keys, panes.to_numpy(), self._aggregates.in_order(parts)) or Partials(keys, columns)

    def _combined(self, keys: DictionaryKeys, panes: Numbers, parts: Columns) -> Partials | None:
        groups = self._groups.of(keys, panes)
        if groups is None:
            return None
        try:
            numbers, made = self._aggregates.combined(pa.array(groups.numbers), parts)
        except (OverflowError, TypeError):
            # The sums of single records may still make one that fits, where all of them meet; and those that
            # cannot be combined may be late.
            return None
        starts = pa.array(groups.panes(numbers))
        return Partials(DictionaryKeys(groups.codes(numbers), keys.distinct), [starts, *made])
