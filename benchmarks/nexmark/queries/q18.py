"""The last bid of every bidder on every auction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from nexmark.events import Events
from penstock.datastream import DataStream


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


def last_of_each(bids: pa.RecordBatch) -> pa.RecordBatch:
    """Of a batch, the last bids only: much less is sent."""
    bidder, auction, time, seq = (bids[name].to_numpy() for name in ("bidder", "auction", "dateTime", "seq"))
    order = np.lexsort((seq, time, auction, bidder))
    bidder, auction = bidder[order], auction[order]
    is_last = np.append((bidder[1:] != bidder[:-1]) | (auction[1:] != auction[:-1]), True)
    return bids.take(pa.array(order[is_last]))


def later(a: Bid, b: Bid) -> Bid:
    return a if (a.dateTime, a.seq) > (b.dateTime, b.seq) else b


def results(events: Events) -> DataStream:
    last = events.bids(Bid).map_batches(last_of_each).key_by(["bidder", "auction"]).reduce(later)
    return last.select("auction", "bidder", "price", "channel", "url", "dateTime", "extra")
