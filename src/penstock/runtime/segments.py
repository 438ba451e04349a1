"""Runs of records of one key, and what is added up along them."""

from __future__ import annotations

from typing import Any

import numpy as np

Integers = np.ndarray[Any, np.dtype[np.int64]]
_LONG = 32
"""Runs that are longer are worked on one by one, shorter ones all at once, record after record."""


class Segments:
    """Records ordered by key; those of one key stay in their order."""

    def __init__(self, keys_of_records: Integers) -> None:
        self._order = np.argsort(keys_of_records, kind="stable")
        ordered = keys_of_records[self._order]
        is_first = np.ones(len(ordered), np.bool_)
        is_first[1:] = ordered[1:] != ordered[:-1]
        self._starts = np.flatnonzero(is_first)
        self._lengths = np.diff(np.append(self._starts, len(ordered)))
        self._ends = self._starts + self._lengths - 1
        self.keys: Integers = ordered[self._starts]
        """Each key once, in ascending order."""

    def sums(self, values: Integers, before: Integers) -> tuple[Integers, Integers]:
        """The sum after each record, from what each key had before; and the last one of each key."""
        ordered = values[self._order]
        totals = np.cumsum(ordered)
        skipped = totals[self._starts] - ordered[self._starts] - before
        return self._given_back(totals - np.repeat(skipped, self._lengths))

    def extremes(self, values: Integers, before: Integers, extreme: Any) -> tuple[Integers, Integers]:
        """The least (`np.minimum`) or greatest value after each record, and the last one of each key."""
        rolled = values[self._order]
        rolled[self._starts] = extreme(rolled[self._starts], before)
        is_long = self._lengths > _LONG
        for start, length in zip(self._starts[is_long].tolist(), self._lengths[is_long].tolist(), strict=True):
            extreme.accumulate(rolled[start : start + length], out=rolled[start : start + length])
        starts, lengths = self._starts[~is_long], self._lengths[~is_long]
        for behind in range(1, int(lengths.max(initial=0))):
            places = starts[lengths > behind] + behind
            rolled[places] = extreme(rolled[places - 1], rolled[places])
        return self._given_back(rolled)

    def _given_back(self, ordered: Integers) -> tuple[Integers, Integers]:
        results = np.empty_like(ordered)
        results[self._order] = ordered
        return results, ordered[self._ends]
