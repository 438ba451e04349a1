"""Bids with a value from a table that does not change."""

from __future__ import annotations

from typing import NamedTuple

from nexmark.events import Events
from penstock.common import Row
from penstock.datastream import DataStream

KEYS = 10_000


class EnrichedBid(NamedTuple):
    """A bid and the value of its key."""

    auction: int
    bidder: int
    price: int
    dateTime: int  # noqa: N815 (the names of Nexmark)
    value: str


def enriched(bid: Row, row: Row) -> EnrichedBid:
    return EnrichedBid(bid.auction, bid.bidder, bid.price, bid.dateTime, row.value)


def results(events: Events) -> DataStream:
    bids = events.bids().select("auction", "bidder", "price", "dateTime")
    return bids.lookup_join(events.side_input(), on="key", key=lambda bid: bid.auction % KEYS).apply(enriched)
