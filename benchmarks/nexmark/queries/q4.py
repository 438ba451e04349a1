"""The mean of winning prices, by category."""

from __future__ import annotations

from typing import NamedTuple

from nexmark.events import Events
from nexmark.queries.winning_bids import Offer, winning_bids
from penstock.datastream import DataStream
from penstock.expressions import col


class Auction(NamedTuple):
    """What is for sale."""

    id: int
    dateTime: int  # noqa: N815 (the names of Nexmark)
    expires: int
    category: int


class Sold(NamedTuple):
    """Auctions of a category."""

    category: int
    price: int
    number: int


def together(a: Sold, b: Sold) -> Sold:
    return Sold(a.category, a.price + b.price, a.number + b.number)


def results(events: Events) -> DataStream:
    auctions = events.auctions(Auction, in_event_time=True)
    bids = events.bids(Offer, in_event_time=True)
    sold = winning_bids(auctions, bids, lambda auction, bid: Sold(auction.category, bid.price, 1), Sold)
    totals = sold.key_by("category").reduce(together)
    return totals.select("category", avg_price=col("price") // col("number"))
