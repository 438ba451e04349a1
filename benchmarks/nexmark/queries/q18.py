"""The last bid of every bidder on every auction."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from nexmark.events import Events
from penstock.common import Types
from penstock.datastream import DataStream
from penstock.datastream.functions import KeyedBatchContext
from penstock.datastream.state import ValueStateDescriptor

NEVER = -(1 << 63)


class Bid(NamedTuple):
    """A bid, and when it came."""

    seq: int
    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    dateTime: int  # noqa: N815 (the names of Nexmark)
    extra: str


class LastBid(NamedTuple):
    """A bid."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    dateTime: int  # noqa: N815
    extra: str


def last_rows(bids: pa.RecordBatch, codes: Any, keys: int) -> Any:
    """Where the last bid of each key is; keys are numbered, and each bid has the number of its key."""
    order = np.lexsort((bids["seq"].to_numpy(), bids["dateTime"].to_numpy()))
    rows = np.empty(keys, np.int64)
    rows[codes[order]] = order  # a later one takes the place of an earlier one
    return rows


def last_of_each(bids: pa.RecordBatch) -> pa.RecordBatch:
    """Of a batch, the last bids only: less is sent."""
    auction, bidder = bids["auction"].to_numpy(), bids["bidder"].to_numpy()
    pairs = pa.array(bidder * (auction.max() + 1) + auction).dictionary_encode()
    return bids.take(pa.array(last_rows(bids, pairs.indices.to_numpy(), len(pairs.dictionary))))


class LaterOnes:
    """Of each bidder and auction the last bid, where it is later than the one before."""

    def __call__(self, bids: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.RecordBatch:
        latest = ctx.get_state(ValueStateDescriptor("latest", Types.TUPLE([Types.LONG(), Types.LONG()])))
        rows = last_rows(bids, ctx.key_codes, len(ctx.distinct_keys))
        time, seq = bids["dateTime"].to_numpy()[rows], bids["seq"].to_numpy()[rows]
        before = latest.get_many(ctx.distinct_keys).flatten()
        time_before, seq_before = (each.fill_null(NEVER).to_numpy() for each in before)
        is_later = (time > time_before) | ((time == time_before) & (seq > seq_before))
        now = [pa.array(np.where(is_later, time, time_before)), pa.array(np.where(is_later, seq, seq_before))]
        latest.put_many(ctx.distinct_keys, pa.StructArray.from_arrays(now, ["f0", "f1"]))
        return bids.take(pa.array(rows[is_later])).select(LastBid._fields)


def results(events: Events) -> DataStream:
    last = events.bids(Bid).map_batches(last_of_each).key_by(["bidder", "auction"])
    return last.process_batches(LaterOnes(), LastBid)
