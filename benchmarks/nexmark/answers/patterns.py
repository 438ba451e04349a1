"""The matches of the patterns of the annex, found by looking at the bids of one (auction, bidder) after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

LIMIT = 10_000
DROP = 50
WITHIN_MS = 5_000


class Bid(NamedTuple):
    """What the patterns look at."""

    price: int
    time: int


Match = tuple[int, ...]
Found = tuple[Match, int]
"""A match and the place of the row where the search goes on."""
OPEN: Found = ((), -1)
"""The input ends while the first rows of a match are there: who began later has to wait for it, and is not found."""


def falling_then_rising(bids: Sequence[Bid], start: int) -> Found | None:
    """c0: prices fall at least once, then rise."""
    end = start + 1
    while end < len(bids) and bids[end].price < bids[end - 1].price:
        end += 1
    if end == start + 1 or end == len(bids) or bids[end].price <= bids[end - 1].price:
        return None
    return (bids[start].time, bids[end - 1].time, bids[end].time), end


def low_mean(bids: Sequence[Bid], start: int) -> Found | None:
    """c1, c2: as long as the mean of prices is low, and the row behind that. The search goes on behind it."""
    total, end = 0, start
    while end < len(bids) and total + bids[end].price < LIMIT * (end - start + 1):
        total += bids[end].price
        end += 1
    if end == start:
        return None
    if end == len(bids):
        return OPEN
    return (bids[start].time, bids[end - 1].time, total // (end - start)), end + 1


def low_mean_from_next(bids: Sequence[Bid], start: int) -> Found | None:
    """c2: as c1, but the search goes on with the next row."""
    found = low_mean(bids, start)
    return found if found is None or found is OPEN else (found[0], start + 1)


def drop(bids: Sequence[Bid], start: int) -> Found | None:
    """c3: a price much lower than the first one, soon, with none in between as low."""
    first = bids[start]
    for place in range(start + 1, len(bids)):
        if bids[place].time - first.time >= WITHIN_MS or bids[place].price == first.price - DROP:
            return None
        if bids[place].price < first.price - DROP:
            return (first.time, first.price - bids[place].price), place + 1
    return None


PATTERNS: dict[str, Callable[[Sequence[Bid], int], Found | None]] = {
    "c0": falling_then_rising,
    "c1": low_mean,
    "c2": low_mean_from_next,
    "c3": drop,
}


def matches(query: str, groups: Iterable[tuple[Match, Sequence[Bid]]]) -> Iterator[Match]:
    """The rows of a query; `groups` are keys with their bids in order."""
    find = PATTERNS[query]
    for key, bids in groups:
        place = 0
        while place < len(bids):
            found = find(bids, place)
            if found is OPEN:
                break
            if found is None:
                place += 1
            else:
                yield key + found[0]
                place = found[1]
