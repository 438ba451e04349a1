"""Bids on auctions of a category, with all about the auction; either may come first, without a bound on time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nexmark.events import Events
from penstock.common import Types
from penstock.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor

CATEGORY = 10


class Bid(NamedTuple):
    """A bid."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    dateTime: int  # noqa: N815 (the names of Nexmark)
    extra: str


class Auction(NamedTuple):
    """What is for sale."""

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


class BidOnAuction(NamedTuple):
    """A bid and its auction."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    dateTime: int  # noqa: N815
    extra: str
    itemName: str  # noqa: N815
    description: str
    initialBid: int  # noqa: N815
    reserve: int
    auction_dateTime: int  # noqa: N815
    expires: int
    seller: int
    category: int
    auction_extra: str


class WithAuction(KeyedCoProcessFunction):
    """Keeps the auction, and the bids that came before; of an auction of another category, that it is one."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._auction = runtime_context.get_state(ValueStateDescriptor("auction", Auction))
        self._is_other = runtime_context.get_state(ValueStateDescriptor("is other", Types.BOOLEAN()))
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Bid))

    def process_element1(self, value: Auction, ctx: KeyedCoProcessFunction.Context) -> Iterator[BidOnAuction]:
        if value.category == CATEGORY:
            self._auction.update(value)
            for bid in self._waiting.get():
                yield BidOnAuction(*bid, *value[1:])
        else:
            self._is_other.update(True)
        self._waiting.clear()

    def process_element2(self, value: Bid, ctx: KeyedCoProcessFunction.Context) -> Iterator[BidOnAuction]:
        if self._is_other.value():
            return
        auction = self._auction.value()
        if auction is None:
            self._waiting.add(value)
        else:
            yield BidOnAuction(*value, *auction[1:])


def results(events: Events) -> DataStream:
    auctions, bids = events.auctions(Auction), events.bids(Bid)
    return auctions.connect(bids).key_by("id", "auction").process(WithAuction())
