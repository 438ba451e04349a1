"""The mean price of the last ten auctions that each seller has sold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nexmark.events import Events
from nexmark.queries.winning_bids import Offer, winning_bids
from penstock.common import Types
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor

LAST = 10


class Auction(NamedTuple):
    """What is for sale."""

    id: int
    dateTime: int  # noqa: N815 (the names of Nexmark)
    expires: int
    seller: int


class Sold(NamedTuple):
    """What was sold, when, and for how much."""

    seller: int
    expires: int
    id: int
    price: int


class SellerMean(NamedTuple):
    """What a seller gets on average."""

    seller: int
    avg_price: int


class MeanOfLast(KeyedProcessFunction):
    """Keeps the last ten, also where they do not come in order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        sales = Types.LIST(Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()]))
        self._last = runtime_context.get_state(ValueStateDescriptor("last", sales))

    def process_element(self, value: Sold, ctx: KeyedProcessFunction.Context) -> Iterator[SellerMean]:
        last = sorted([*(self._last.value() or ()), (value.expires, value.id, value.price)])[-LAST:]
        self._last.update(last)
        yield SellerMean(value.seller, sum(price for _, _, price in last) // len(last))


def results(events: Events) -> DataStream:
    auctions = events.auctions(Auction, in_event_time=True)
    bids = events.bids(Offer, in_event_time=True)
    sold = winning_bids(auctions, bids, lambda a, bid: Sold(a.seller, a.expires, a.id, bid.price), Sold)
    return sold.key_by("seller").process(MeanOfLast())
