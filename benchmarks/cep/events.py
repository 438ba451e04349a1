"""What the records are to the pattern benchmarks, and what a correct program finds in them.

The kind of a record is that of its time, so that every contender sees the same events in the order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from common.json_columns import read_columns

WITHIN_MS = 10_000
KINDS = 20
"""`ts % KINDS` is the kind of an event."""
A, B, C = (0, 3), (3, 6), (6, 8)
"""From which kind to which: one of them."""


def pattern_answers(paths: Sequence[str]) -> dict[str, Any]:
    """How many matches the patterns have, and the sum of the times that they take."""
    tables = [read_columns(path) for path in paths]
    keys = np.concatenate([table["k"].to_numpy() for table in tables])
    times = np.concatenate([table["ts"].to_numpy() for table in tables])
    order = np.lexsort((times, keys))
    return {
        "followed_by": _followed_by(keys[order], times[order]),
        "strictly_next": _strictly_next(keys[order], times[order]),
    }


def _followed_by(keys: Any, times: Any) -> dict[str, int]:
    """An A, then the first B, without a C between, in time."""
    counts = _is(times, A) | _is(times, B) | _is(times, C)
    keys, times = keys[counts], times[counts]
    # The next B or C behind each A, whatever A there are between.
    ends = np.where(_is(times, A), len(keys), np.arange(len(keys)))
    following = np.minimum.accumulate(ends[::-1])[::-1]
    first = np.flatnonzero(_is(times, A) & (following < len(keys)))
    last = following[first]
    took = times[last] - times[first]
    return _answer(took[(keys[first] == keys[last]) & _is(times[last], B) & (took < WITHIN_MS)])


def _strictly_next(keys: Any, times: Any) -> dict[str, int]:
    """An A, and a B right behind it."""
    took = times[1:] - times[:-1]
    return _answer(took[(keys[1:] == keys[:-1]) & _is(times[:-1], A) & _is(times[1:], B)])


def _answer(took: Any) -> dict[str, int]:
    return {"outputs": len(took), "checksum": int(took.sum())}


def _is(times: Any, kind: tuple[int, int]) -> Any:
    return (times % KINDS >= kind[0]) & (times % KINDS < kind[1])
