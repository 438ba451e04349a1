"""The ten highest bids on every auction, with their ranks."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from nexmark.events import Events
from penstock.common import Types
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor

RANKS = 10


class Bid(NamedTuple):
    """A bid."""

    seq: int
    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    dateTime: int  # noqa: N815 (the names of Nexmark)
    extra: str


class RankedBid(NamedTuple):
    """A bid and its rank, from 1."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    dateTime: int  # noqa: N815
    extra: str
    rank_number: int


def highest_of_each(bids: pa.RecordBatch) -> pa.RecordBatch:
    """Of a batch, the ten highest bids on each auction only: much less is sent."""
    auction, price, seq = (bids[name].to_numpy() for name in ("auction", "price", "seq"))
    order = np.lexsort((seq, -price, auction))
    auction = auction[order]
    is_first = np.append(True, auction[1:] != auction[:-1])
    starts = np.flatnonzero(is_first)
    rank = np.arange(len(order)) - starts[np.cumsum(is_first) - 1]
    return bids.take(pa.array(np.sort(order[rank < RANKS])))


def order(bid: Bid) -> tuple[int, int]:
    return -bid.price, bid.seq


class TopBids(KeyedProcessFunction):
    """Keeps the highest bids of an auction; says which ranks a new one changes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._top = runtime_context.get_list_state(ListStateDescriptor("top", Bid))
        # The lowest of ten: most bids on a busy auction are below it, and need nothing else.
        lowest = Types.TUPLE([Types.LONG(), Types.LONG()])
        self._lowest = runtime_context.get_state(ValueStateDescriptor("lowest", lowest))

    def process_element(self, value: Bid, ctx: KeyedProcessFunction.Context) -> Iterator[RankedBid]:
        lowest = self._lowest.value()
        if lowest is not None and lowest < order(value):
            return
        top = list(self._top.get())
        insort(top, value, key=order)
        del top[RANKS:]
        self._top.update(top)
        if len(top) == RANKS:
            self._lowest.update(order(top[-1]))
        first_changed = top.index(value)
        for rank, bid in enumerate(top[first_changed:], first_changed + 1):
            yield RankedBid(*bid[1:], rank)


def results(events: Events) -> DataStream:
    return events.bids(Bid).map_batches(highest_of_each).key_by("auction").process(TopBids())
