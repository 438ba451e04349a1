"""Records on their way to a `reduce` that may take parts of them first: one for every key and pane, where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.batch import RecordCodec
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.functions.adapt import reduce_callable
from penstock.runtime.pane_groups import PaneGroups, are_few
from penstock.windows.assigner import AlignedWindowAssigner


class CombinedRecords(NamedTuple):
    """Records that each stand for some of one key and one pane."""

    columns: list[pa.Array]
    timestamps: pa.Array | None
    """Of the first record of each."""
    keys: DictionaryKeys
    record_counts: pa.Array


class RecordCombiner:
    """Reduces records of the same key and pane before they are sent, by the program's function.

    What is left are records like all others, in the order of the first of each group.
    """

    def __init__(self, function: Any, assigner: AlignedWindowAssigner | None, codec: RecordCodec) -> None:
        self._reduce = reduce_callable(function)
        self._groups = PaneGroups(assigner)
        self.codec = codec

    def of_records(
        self, columns: Sequence[pa.Array], stamps: pa.Array | None, keys: DictionaryKeys
    ) -> CombinedRecords | None:
        """What is left of records; None where that would be as many, or a record has no time, or fails."""
        return self._combined(columns, stamps, keys, None) if are_few(len(keys.distinct), len(keys.codes)) else None

    def merged(self, parts: CombinedRecords) -> CombinedRecords:
        """The same with every key and pane once, where the function allows it."""
        return self._combined(parts.columns, parts.timestamps, parts.keys, parts.record_counts) or parts

    def _combined(
        self,
        columns: Sequence[pa.Array],
        stamps: pa.Array | None,
        keys: DictionaryKeys,
        counts: pa.Array | None,
    ) -> CombinedRecords | None:
        count = len(keys.codes)
        panes = self._groups.panes_of(stamps, count)
        groups = None if panes is None else self._groups.of(keys, panes)
        if groups is None:
            return None
        found, first, group_of = np.unique(groups.numbers, return_index=True, return_inverse=True)
        if counts is None and not are_few(len(found), count):
            return None
        try:
            # The function may change what it gets, and others have the records of the batch: these are its own.
            made = self.codec.to_columns(self._reduced(self.codec.to_values(columns), group_of.tolist()))
        except Exception:
            # The record may be late, and then it fails nothing; if it is not, it fails where it arrives.
            return None
        order = np.argsort(first)
        first_rows = pa.array(first[order])
        weights = None if counts is None else counts.to_numpy()
        return CombinedRecords(
            made,
            None if stamps is None else stamps.take(first_rows),
            DictionaryKeys(groups.codes(found[order]), keys.distinct),
            pa.array(np.bincount(group_of, weights)[order].astype(np.int64)),
        )

    def _reduced(self, values: Sequence[Any], group_of: list[int]) -> list[Any]:
        reduce = self._reduce
        # In the order of first records.
        reduced: dict[int, Any] = {}
        for group, value in zip(group_of, values, strict=True):
            if group not in reduced:
                reduced[group] = value
                continue
            made = reduce(reduced[group], value)
            if made is None:
                raise ValueError("a reduction to None begins anew with the next record")
            reduced[group] = made
        return list(reduced.values())
