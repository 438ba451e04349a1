"""Bids, bidders and auctions per day, in total and by price class."""

from __future__ import annotations

from nexmark.events import Events
from nexmark.queries.days import DAY, DAY_MS
from nexmark.queries.distinct_counts import COUNTS, distinct_counts
from nexmark.schema import QUERIES
from penstock.common import Types
from penstock.datastream import DataStream
from penstock.expressions import col

NAMES = [name for name, _ in QUERIES["q15"].result][1:]


def results(events: Events) -> DataStream:
    bids = events.bids().select("bidder", "auction", "price", "dateTime", day=col("dateTime") // DAY_MS)
    counts = distinct_counts(bids, ["day"], [Types.LONG()])
    named = {name: col(count) for name, count in zip(NAMES, COUNTS, strict=True)}
    return counts.select(day=DAY, **named)
