"""What the Python programs of PyFlink and bytewax compute of single values."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

RATE = Decimal("0.908")
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
SIDE_INPUT_KEYS = 10_000
PLACES = 10
CHANNELS = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
CHANNEL_ID = re.compile(r"(&|^)channel_id=([^&]*)")
NO_TOTALS = (0, 0, 0, 0, 1 << 62, 0, 0)


def day_of(time: int) -> str:
    """2015-07-14."""
    return _formatted(time // DAY_MS * DAY_MS, "%Y-%m-%d")


def minute_of(time: int) -> str:
    """23:59."""
    return _formatted(time // MINUTE_MS * MINUTE_MS, "%H:%M")


@lru_cache
def _formatted(time: int, pattern: str) -> str:
    return datetime.fromtimestamp(time // 1000, UTC).strftime(pattern)


def part_of_day(time: int) -> str:
    """When on its day a bid was placed."""
    hour = time // HOUR_MS % 24
    if 8 <= hour <= 18:
        return "dayTime"
    return "nightTime" if hour <= 6 or hour >= 20 else "otherTime"


def channel_id_of(channel: str, url: str) -> str | None:
    """The id of a channel: its own, or that in the URL."""
    known = CHANNELS.get(channel.lower())
    if known is not None:
        return known
    found = CHANNEL_ID.search(url)
    return found[2] if found else None


def read_side_input(path: str) -> dict[int, str]:
    """The side input by its keys."""
    lines = Path(path).read_text().splitlines()
    return {int(key): value for key, _, value in (line.partition(",") for line in lines)}


def add_price(totals: tuple[int, ...] | None, price: int) -> tuple[int, ...]:
    """Bids in total and by class of price; least, greatest and sum of prices."""
    bids, low, middle, high, least, most, total = totals or NO_TOTALS
    return (
        bids + 1,
        low + (price < 10_000),
        middle + (10_000 <= price < 1_000_000),
        high + (price >= 1_000_000),
        min(least, price),
        max(most, price),
        total + price,
    )


def class_of(price: int) -> int:
    """The class of a price: 1, 2 or 3."""
    if price < 10_000:
        return 1
    return 2 if price < 1_000_000 else 3


def count_distinct(counts: list[int], seen: Any, value: int, place: int, rank: int) -> None:
    """Counts a value where it is new, in total and in its class; `seen` has a bit for every class of a value."""
    classes = seen.get(value) or 0
    if not classes:
        counts[place] += 1
    if not classes >> rank & 1:
        counts[place + rank] += 1
        seen[value] = classes | 1 << rank


def place_among(best: list[Any], rank: tuple[int, ...]) -> int | None:
    """Where in a list of the best a new one comes; elements begin with their rank, the highest is first."""
    place = len(best)
    while place and best[place - 1][0] < rank:
        place -= 1
    return place if place < PLACES else None
