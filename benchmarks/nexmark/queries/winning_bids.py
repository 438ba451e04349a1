"""The winning bid of every auction, once the auction has expired: what q4, q6 and q9 begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor


class WinningBids(KeyedCoProcessFunction):
    """Takes auctions and bids in any order; the highest price wins, then the earliest bid."""

    def __init__(self, auctions: DataStream, bids: DataStream, make: Callable[[Any, Any], Any]) -> None:
        self._types = auctions.get_type(), bids.get_type()
        self._make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        auction_type, bid_type = self._types
        self._auction = runtime_context.get_state(ValueStateDescriptor("auction", auction_type))
        self._best = runtime_context.get_state(ValueStateDescriptor("best", bid_type))
        self._early = runtime_context.get_list_state(ListStateDescriptor("early", bid_type))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self._auction.update(value)
        for bid in self._early.get():
            self._offer(value, bid)
        self._early.clear()
        ctx.timer_service().register_event_time_timer(value.expires)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        auction = self._auction.value()
        if auction is not None:
            self._offer(auction, value)
        elif value.dateTime > ctx.timer_service().current_watermark():
            # Its auction may still come. One timer a second is enough to forget what has waited in vain.
            self._early.add(value)
            ctx.timer_service().register_event_time_timer(value.dateTime // 1000 * 1000 + 999)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        auction = self._auction.value()
        if auction is None:
            # When event time has passed a bid, no auction can come that was open then.
            now = ctx.timer_service().current_watermark()
            self._early.update([bid for bid in self._early.get() if bid.dateTime > now])
        elif auction.expires <= timestamp:
            best = self._best.value()
            if best is not None:
                yield self._make(auction, best)
            self._auction.clear()
            self._best.clear()

    def _offer(self, auction: Any, bid: Any) -> None:
        if auction.dateTime <= bid.dateTime <= auction.expires:
            best = self._best.value()
            if best is None or _rank(bid) < _rank(best):
                self._best.update(bid)


def _rank(bid: Any) -> tuple[int, int, int]:
    return -bid.price, bid.dateTime, bid.seq


class Offer(NamedTuple):
    """How much, and when."""

    seq: int
    auction: int
    price: int
    dateTime: int  # noqa: N815 (the names of Nexmark)


def winning_bids(auctions: DataStream, bids: DataStream, make: Callable[[Any, Any], Any], output: type) -> DataStream:
    """Of each auction that got a bid while it was open, what `make` makes of it and the winning bid."""
    expired = auctions.connect(bids).key_by("id", "auction")
    return expired.process(WinningBids(auctions, bids, make), output)
