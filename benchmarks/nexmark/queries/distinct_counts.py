"""How many bids, bidders and auctions a group has, in total and by price class: what q15 and q16 count.

A bidder is counted where it is seen first: bids are keyed by group and bidder, and what is new there is sent to the
group, which adds it up. So no key has all the work, not even where there is but one group. The same for auctions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nexmark.queries.price_classes import HIGH, LOW
from penstock.common import Types
from penstock.datastream import DataStream
from penstock.datastream.functions import KeyedBatchContext
from penstock.datastream.state import ValueStateDescriptor

CLASSES = 4
"""In total, and by price class."""
BIDS, BIDDERS, AUCTIONS = 0, 4, 8
"""Where the counts of each begin."""
COUNTS = [f"count{place}" for place in range(3 * CLASSES)]
LATEST = "latest"
RANK = "rank"


def classes(prices: pa.Array) -> Any:
    """The class of each price: 1, 2, 3."""
    price = prices.to_numpy()
    return 1 + (price >= LOW).astype(np.int64) + (price >= HIGH)


class CountBids:
    """The bids of a batch by group: a row for each group."""

    def __init__(self, group: Sequence[str]) -> None:
        self._group = list(group)

    def __call__(self, bids: pa.RecordBatch) -> pa.Table:
        table = pa.table({name: bids[name] for name in self._group}).append_column(LATEST, bids["dateTime"])
        rank = classes(bids["price"])
        table = table.append_column("0", pa.array(np.ones(len(rank), np.int64)))
        for place in range(1, CLASSES):
            table = table.append_column(str(place), pa.array((rank == place).astype(np.int64)))
        sums = [(str(place), "sum") for place in range(CLASSES)]
        grouped = table.group_by(self._group, use_threads=False).aggregate([(LATEST, "max"), *sums])
        counted = {BIDS + place: grouped[f"{place}_sum"] for place in range(CLASSES)}
        return _changes(grouped.select(self._group), grouped[f"{LATEST}_max"], counted)


class Seen:
    """Of a batch, each group and thing (a bidder, an auction) once for each class of its prices: much less is sent."""

    def __init__(self, group: Sequence[str], thing: str) -> None:
        self._names = [*group, thing, RANK]

    def __call__(self, bids: pa.RecordBatch) -> pa.Table:
        columns = {name: bids[name] for name in self._names[:-1]}
        table = pa.table({**columns, RANK: classes(bids["price"]), LATEST: bids["dateTime"]})
        grouped = table.group_by(self._names, use_threads=False).aggregate([(LATEST, "max")])
        return grouped.rename_columns([*self._names, LATEST])


class CountNew:
    """Of each group and thing, in which classes it has not been seen before."""

    def __init__(self, group: Sequence[str], first_count: int) -> None:
        self._group = list(group)
        self._first_count = first_count

    def __call__(self, things: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.Table | None:
        seen = ctx.get_state(ValueStateDescriptor("classes", Types.LONG()))
        codes = ctx.key_codes
        now = np.zeros(len(ctx.distinct_keys), np.int64)
        # A bit for every class; the lowest one is for the total.
        np.bitwise_or.at(now, codes, 1 | 1 << things[RANK].to_numpy())
        before = seen.get_many(ctx.distinct_keys).fill_null(0).to_numpy()
        new = now & ~before
        changed = np.flatnonzero(new)
        if len(changed) == 0:
            return None
        seen.put_many(pc.take(ctx.distinct_keys, pa.array(changed)), (before | now)[changed])
        first_rows = np.empty(len(new), np.int64)
        first_rows[codes[::-1]] = np.arange(len(codes))[::-1]
        rows = things.take(pa.array(first_rows[changed]))
        counted = {self._first_count + place: pa.array(new[changed] >> place & 1) for place in range(CLASSES)}
        return _changes(rows.select(self._group), rows[LATEST], counted)


class AddUp:
    """Adds what is new to the counts of each group; says how every group stands that has changed."""

    def __init__(self, group: Sequence[str]) -> None:
        self._group = list(group)

    def __call__(self, changes: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.Table:
        stands = ctx.get_state(ValueStateDescriptor("counts", Types.TUPLE([Types.LONG()] * (1 + len(COUNTS)))))
        codes, number = ctx.key_codes, len(ctx.distinct_keys)
        before = stands.get_many(ctx.distinct_keys)
        columns: list[Any] = []
        for place, name in enumerate([LATEST, *COUNTS]):
            known = pc.fill_null(pc.struct_field(before, place), 0).to_numpy(zero_copy_only=False).copy()
            add = np.maximum if name == LATEST else np.add
            add.at(known, codes, changes[name].to_numpy())
            columns.append(pa.array(known))
        stands.put_many(ctx.distinct_keys, pa.StructArray.from_arrays(columns, before.type.names))
        first_rows = np.empty(number, np.int64)
        first_rows[codes] = np.arange(len(codes))
        group = changes.select(self._group).take(pa.array(first_rows))
        return pa.table([*group.columns, *columns], names=[*self._group, LATEST, *COUNTS])


def _changes(group: Any, latest: Any, counted: dict[int, Any]) -> pa.Table:
    nothing = pa.array(np.zeros(len(latest), np.int64))
    counts = [counted.get(place, nothing) for place in range(len(COUNTS))]
    return pa.table([*group.columns, latest, *counts], names=[*group.schema.names, LATEST, *COUNTS])


def distinct_counts(bids: DataStream, group: list[str], group_types: list[Any]) -> DataStream:
    """Rows of the group, the latest time and the counts: again whenever something has changed.

    `bids` have the fields of the group, and `bidder`, `auction`, `price` and `dateTime`.
    """
    counts = Types.ROW_NAMED([*group, LATEST, *COUNTS], [*group_types, *[Types.LONG()] * (1 + len(COUNTS))])

    def new(thing: str, first_count: int) -> DataStream:
        seen = Types.ROW_NAMED([*group, thing, RANK, LATEST], [*group_types, *[Types.LONG()] * 3])
        keyed = bids.map_batches(Seen(group, thing), seen).key_by([*group, thing])
        return keyed.process_batches(CountNew(group, first_count), counts)

    new_bidders, new_auctions = new("bidder", BIDDERS), new("auction", AUCTIONS)
    changes = bids.map_batches(CountBids(group), counts).union(new_bidders, new_auctions)
    return changes.key_by(group).process_batches(AddUp(group), counts)
