"""Every auction with its winning bid."""

from __future__ import annotations

from typing import NamedTuple

from nexmark.events import Events
from nexmark.queries.winning_bids import winning_bids
from penstock.datastream import DataStream


class Auction(NamedTuple):
    """What is for sale."""

    id: int
    itemName: str  # noqa: N815 (the names of Nexmark)
    description: str
    initialBid: int  # noqa: N815
    reserve: int
    dateTime: int  # noqa: N815
    expires: int
    seller: int
    category: int
    extra: str


class Bid(NamedTuple):
    """What somebody offers."""

    seq: int
    auction: int
    bidder: int
    price: int
    dateTime: int  # noqa: N815
    extra: str


class Won(NamedTuple):
    """An auction and the bid that has won it."""

    id: int
    itemName: str  # noqa: N815
    description: str
    initialBid: int  # noqa: N815
    reserve: int
    dateTime: int  # noqa: N815
    expires: int
    seller: int
    category: int
    extra: str
    auction: int
    bidder: int
    price: int
    bid_dateTime: int  # noqa: N815
    bid_extra: str


def won(auction: Auction, bid: Bid) -> Won:
    return Won(*auction, bid.auction, bid.bidder, bid.price, bid.dateTime, bid.extra)


def results(events: Events) -> DataStream:
    auctions = events.auctions(Auction, in_event_time=True)
    return winning_bids(auctions, events.bids(Bid, in_event_time=True), won, Won)
