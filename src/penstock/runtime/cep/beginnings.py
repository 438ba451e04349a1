"""Where matches may begin in events of keys that have no partial match: found for all keys at once, in columns.

An event begins a match that is over with the very next event more often than not, above all where steps follow each
other strictly. What becomes of the first of two events follows from their masks alone where all conditions are
expressions: the automaton is asked once for each pair of masks, and the answer is kept in a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.runtime.cep.condition_tests import Masks
from penstock.runtime.cep.nfa import Fate, Nfa

Numbers = np.ndarray[Any, np.dtype[np.int64]]
_MOST_BITS = 8
"""The table has an entry for each pair of masks."""
_UNKNOWN = -1


class Prospects(NamedTuple):
    """Places among events that are sorted by key, and of a key by time."""

    begin: Numbers
    """Where a key without partial matches has to be looked at, in ascending order."""
    joined: Numbers
    """Those of them whose next event is part of a match, too."""


class Beginnings:
    """Finds the events that matter to keys without partial matches."""

    def __init__(self, nfa: Nfa, bits: int) -> None:
        self._nfa = nfa
        self._bits = bits
        self._fates: np.ndarray[Any, np.dtype[np.int8]] | None = None
        if nfa.goes_by_masks and bits <= _MOST_BITS:
            self._fates = np.full(1 << 2 * bits, _UNKNOWN, np.int8)

    def find(self, masks: Masks, times: Numbers, starts: Numbers) -> Prospects | None:
        """Where matches may begin; `starts` is where the events of each key start. None: anywhere."""
        start_mask = self._nfa.start_mask
        if start_mask is not None:
            begin = np.flatnonzero(masks & start_mask)
        elif self._fates is not None:
            begin = np.arange(len(masks))
        else:
            return None
        if self._fates is None or not len(begin):
            return Prospects(begin, begin[:0])
        is_last = np.zeros(len(masks), np.bool_)
        is_last[starts[1:] - 1] = is_last[-1] = True
        waits = is_last[begin]
        first = begin[~waits]
        fates = self._fates_of(masks[first] << self._bits | masks[first + 1])
        stays = fates != Fate.OVER
        if limit := self._nfa.shortest_limit:
            # What runs out of time before the next event comes is told, or is a match.
            stays |= times[first + 1].view(np.uint64) - times[first].view(np.uint64) >= limit
        chosen = np.zeros(len(masks), np.bool_)
        chosen[begin[waits]] = True
        chosen[first[stays]] = True
        return Prospects(np.flatnonzero(chosen), first[fates == Fate.JOINED])

    def _fates_of(self, pairs: Numbers) -> np.ndarray[Any, np.dtype[np.int8]]:
        assert self._fates is not None
        fates = self._fates[pairs]
        unknown = np.unique(pairs[fates == _UNKNOWN])
        if not len(unknown):
            return fates
        last = (1 << self._bits) - 1
        for pair in unknown.tolist():
            self._fates[pair] = self._nfa.fate(pair >> self._bits, pair & last)
        return self._fates[pairs]
