"""How many bids, bidders and auctions a group has, in total and by price class: what q15 and q16 count.

A bidder is counted where it is seen first: bids are keyed by group and by the block of ids that the bidder is in, and
what is new there is sent to the group, which adds it up. So no key has all the work, not even where there is but one
group; and state is one value for each block, not for each bidder of each group. The same for auctions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
BLOCK = "block"
SHARD_BITS, BLOCK_BITS = 3, 14
"""Ids that follow each other are in different blocks; a block has 16,384 ids of a range of eight times as many."""
CLASS_BITS = 4
"""Of an id that was seen, 32 bits are kept: its place, and a bit for each class, of which the lowest is the total."""
SEEN = np.dtype("<u4")


def blocks(ids: pa.Array) -> Any:
    """The block of each id."""
    each = ids.to_numpy()
    return (each >> SHARD_BITS + BLOCK_BITS << SHARD_BITS) + (each & (1 << SHARD_BITS) - 1)


def places(ids: pa.Array) -> Any:
    """Where each id is in its block."""
    return ids.to_numpy() >> SHARD_BITS & (1 << BLOCK_BITS) - 1


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
        self._thing = thing
        self._names = [*group, thing, RANK]

    def __call__(self, bids: pa.RecordBatch) -> pa.Table:
        columns = {name: bids[name] for name in self._names[:-1]}
        table = pa.table({**columns, RANK: classes(bids["price"])})
        seen = table.group_by(self._names, use_threads=False).aggregate([])
        return seen.append_column(BLOCK, pa.array(blocks(seen[self._thing].combine_chunks())))


class CountNew:
    """Of each group and block, how many things have not been seen before, by class."""

    def __init__(self, group: Sequence[str], thing: str, first_count: int) -> None:
        self._group = list(group)
        self._thing = thing
        self._first_count = first_count

    def __call__(self, things: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.Table | None:
        state = ctx.get_state(ValueStateDescriptor("seen", Types.PRIMITIVE_ARRAY(Types.BYTE())))
        known = Ids.of_values(state.get_many(ctx.distinct_keys))
        number = len(ctx.distinct_keys)
        now = Ids.of_rows(ctx.key_codes, places(things[self._thing]), 1 | 1 << things[RANK].to_numpy())
        new = now.masks & ~known.masks_at(now.numbers)
        if not new.any():
            return None
        state.put_many(ctx.distinct_keys, known.with_all(now).to_values(number))
        changed = now.numbers >> BLOCK_BITS
        counted = {
            self._first_count + place: np.bincount(changed, new >> place & 1, number).astype(np.int64)
            for place in range(CLASSES)
        }
        first_rows = np.empty(number, np.int64)
        first_rows[ctx.key_codes[::-1]] = np.arange(len(ctx.key_codes))[::-1]
        rows = np.flatnonzero(np.bincount(changed, new > 0, number))
        group = things.select(self._group).take(pa.array(first_rows[rows]))
        # When the latest bid was is counted with the bids.
        nothing = pa.array(np.zeros(len(rows), np.int64))
        return _changes(group, nothing, {place: pa.array(each[rows]) for place, each in counted.items()})


class Ids(NamedTuple):
    """Ids of several blocks, sorted, each with the classes in which it was seen."""

    numbers: Any
    """Of the block among all, and of the place in it."""
    masks: Any

    @classmethod
    def of_rows(cls, codes: Any, places: Any, masks: Any) -> Ids:
        """Of rows in any order; an id may be there for each class."""
        return cls(codes.astype(np.int64) << BLOCK_BITS | places, masks)._sorted()

    @classmethod
    def of_values(cls, values: pa.Array) -> Ids:
        """Of the state of blocks."""
        values = values.fill_null(b"")
        seen = np.frombuffer(b"".join(values.to_pylist()), SEEN).astype(np.int64)
        codes = np.repeat(np.arange(len(values)), pc.binary_length(values).to_numpy() // SEEN.itemsize)
        return cls(codes << BLOCK_BITS | seen >> CLASS_BITS, seen & (1 << CLASS_BITS) - 1)

    def masks_at(self, numbers: Any) -> Any:
        """The classes of some ids; 0 of those that are not there."""
        if len(self.numbers) == 0:
            return np.zeros(len(numbers), np.int64)
        found = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where(self.numbers[found] == numbers, self.masks[found], 0)

    def with_all(self, others: Ids) -> Ids:
        """These and others."""
        numbers = np.concatenate([self.numbers, others.numbers])
        return Ids(numbers, np.concatenate([self.masks, others.masks]))._sorted()

    def _sorted(self) -> Ids:
        order = np.argsort(self.numbers, kind="stable")
        numbers = self.numbers[order]
        starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
        return Ids(numbers[starts], np.bitwise_or.reduceat(self.masks[order], starts))

    def to_values(self, blocks: int) -> pa.Array:
        """The state of so many blocks."""
        counts = np.bincount(self.numbers >> BLOCK_BITS, minlength=blocks)
        offsets = np.concatenate([[0], np.cumsum(counts * SEEN.itemsize)]).astype(np.int32)
        seen = ((self.numbers & (1 << BLOCK_BITS) - 1) << CLASS_BITS | self.masks).astype(SEEN)
        return pa.Array.from_buffers(pa.binary(), blocks, [None, pa.py_buffer(offsets), pa.py_buffer(seen)])


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
        seen = Types.ROW_NAMED([*group, thing, RANK, BLOCK], [*group_types, *[Types.LONG()] * 3])
        keyed = bids.map_batches(Seen(group, thing), seen).key_by([*group, BLOCK])
        return keyed.process_batches(CountNew(group, thing, first_count), counts)

    new_bidders, new_auctions = new("bidder", BIDDERS), new("auction", AUCTIONS)
    changes = bids.map_batches(CountBids(group), counts).union(new_bidders, new_auctions)
    return changes.key_by(group).process_batches(AddUp(group), counts)
