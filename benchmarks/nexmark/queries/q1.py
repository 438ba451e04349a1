"""Prices in another currency, exact to the last digit."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from nexmark.events import Events
from penstock.common import Row
from penstock.datastream import DataStream

RATE = Decimal("0.908")


class PricedBid(NamedTuple):
    """A bid in the other currency."""

    auction: int
    bidder: int
    price: Decimal
    dateTime: int  # noqa: N815 (the names of Nexmark)
    extra: str


def converted(bid: Row) -> PricedBid:
    return PricedBid(bid.auction, bid.bidder, bid.price * RATE, bid.dateTime, bid.extra)


def results(events: Events) -> DataStream:
    return events.bids().map(converted)
