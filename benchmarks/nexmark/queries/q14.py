"""Bids of a range of prices, with the part of the day, and a user function: how often a letter is in a text."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from nexmark.events import Events
from nexmark.queries.q1 import RATE
from penstock.common import Row
from penstock.datastream import DataStream
from penstock.expressions import col

HOUR_MS = 3_600_000


class TimedBid(NamedTuple):
    """A bid, and what is computed of it."""

    auction: int
    bidder: int
    price: Decimal
    bidTimeType: str  # noqa: N815 (the names of Nexmark)
    dateTime: int  # noqa: N815
    extra: str
    c_counts: int


def part_of_day(time: int) -> str:
    hour = time // HOUR_MS % 24
    if 8 <= hour <= 18:
        return "dayTime"
    return "nightTime" if hour <= 6 or hour >= 20 else "otherTime"


def count_char(text: str, character: str) -> int:
    return text.count(character)


def described(bid: Row) -> TimedBid:
    return TimedBid(
        bid.auction,
        bid.bidder,
        bid.price * RATE,
        part_of_day(bid.dateTime),
        bid.dateTime,
        bid.extra,
        count_char(bid.extra, "c"),
    )


def results(events: Events) -> DataStream:
    # In thousandths, so that nothing is rounded.
    converted = col("price") * 908
    bids = events.bids().filter((converted > 1_000_000_000) & (converted < 50_000_000_000))
    return bids.map(described)
