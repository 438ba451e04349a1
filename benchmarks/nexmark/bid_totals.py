"""q12 has no fixed answer, for its windows are those of the clock: what can be said of it all the same."""

from __future__ import annotations

from collections.abc import Sequence

WINDOW_MS = 10_000


def bids_left_open(samples: Sequence[tuple[int, float]]) -> int:
    """How many bids may be in windows that the end of the input has left open: those of the last ten seconds."""
    records, seconds = 0, 0.0
    for read, took in reversed(samples):
        if seconds < WINDOW_MS / 1000:
            records += read
            seconds += took
    return records


def total_differences(total: int | None, bids: int, samples: Sequence[tuple[int, float]]) -> tuple[str, ...]:
    """What is wrong with the sum of all counts; nothing where every bid is in one window, or may be in an open one."""
    if total is None:
        return ("the program says neither how many bids its windows have (bid_total) nor where its rows are (output)",)
    left_open = bids_left_open(samples)
    if bids - left_open <= total <= bids:
        return ()
    return (f"{total} bids in all windows; right are {bids}, less up to {left_open} in open windows",)
