"""The ten highest bids on every auction, with their ranks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nexmark.events import Events
from penstock.common import Types
from penstock.datastream import DataStream
from penstock.datastream.functions import KeyedBatchContext
from penstock.datastream.state import ValueStateDescriptor

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


def highest(price: Any, seq: Any, codes: Any) -> tuple[Any, Any]:
    """Where the ten highest bids of each key are, key by key, and their places among those of their key, from 0."""
    order = np.lexsort((seq, -price, codes))
    codes = codes[order]
    is_first = np.append(True, codes[1:] != codes[:-1])
    rank = np.arange(len(order)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    return order[rank < RANKS], rank[rank < RANKS]


def highest_of_each(bids: pa.RecordBatch) -> pa.RecordBatch:
    """Of a batch, the ten highest bids on each auction only: much less is sent."""
    rows, _ = highest(*(bids[name].to_numpy() for name in ("price", "seq", "auction")))
    return bids.take(pa.array(rows))


class TopBids:
    """Keeps the highest bids of each auction; says which ranks new ones have changed."""

    def __init__(self, bid_type: Any) -> None:
        self._top = ValueStateDescriptor("top", Types.LIST(bid_type))

    def __call__(self, bids: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.Table:
        top = ctx.get_state(self._top)
        before = top.get_many(ctx.distinct_keys)
        old, old_codes = before.flatten(), pc.list_parent_indices(before).to_numpy()
        old_ranks = np.arange(len(old)) - np.searchsorted(old_codes, old_codes)
        every = pa.concat_arrays([old, bids.to_struct_array()])
        codes = np.concatenate([old_codes, ctx.key_codes])
        rows, ranks = highest(every.field("price").to_numpy(), every.field("seq").to_numpy(), codes)
        is_old = rows < len(old)
        is_changed = np.ones(len(rows), np.bool_)
        is_changed[is_old] = old_ranks[rows[is_old]] != ranks[is_old]
        sizes = np.bincount(codes[rows], minlength=len(before))
        now = pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(sizes)), pa.int32()), every.take(pa.array(rows)))
        has_changed = np.bincount(codes[rows[is_changed]], minlength=len(before)) > 0
        top.put_many(ctx.distinct_keys.filter(pa.array(has_changed)), now.filter(pa.array(has_changed)))
        changed = pa.RecordBatch.from_struct_array(every.take(pa.array(rows[is_changed])))
        return changed.append_column("rank_number", pa.array(ranks[is_changed] + 1)).select(RankedBid._fields)


def results(events: Events) -> DataStream:
    bids = events.bids(Bid)
    return bids.map_batches(highest_of_each).key_by("auction").process_batches(TopBids(bids.get_type()), RankedBid)
