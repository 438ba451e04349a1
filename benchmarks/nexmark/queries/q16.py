"""Bids, bidders and auctions per channel and day, in total and by price class, and the latest minute."""

from __future__ import annotations

from nexmark.events import Events
from nexmark.queries.days import DAY, DAY_MS
from nexmark.queries.distinct_counts import COUNTS, LATEST, distinct_counts
from nexmark.schema import QUERIES
from penstock.common import Types
from penstock.datastream import DataStream
from penstock.expressions import col

NAMES = [name for name, _ in QUERIES["q16"].result][3:]


def results(events: Events) -> DataStream:
    bids = events.bids().select("channel", "bidder", "auction", "price", "dateTime", day=col("dateTime") // DAY_MS)
    counts = distinct_counts(bids, ["channel", "day"], [Types.STRING(), Types.LONG()])
    minute = col(LATEST).from_unix_millis().date_format("HH:mm")
    named = {name: col(count) for name, count in zip(NAMES, COUNTS, strict=True)}
    return counts.select("channel", day=DAY, minute=minute, **named)
