"""Bids and prices per auction and day."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from nexmark.events import Events
from nexmark.queries.days import DAY, DAY_MS
from nexmark.queries.price_classes import HIGH, LOW
from penstock.datastream import DataStream
from penstock.expressions import col


class Bid(NamedTuple):
    """What is read of a bid."""

    auction: int
    price: int
    dateTime: int  # noqa: N815 (the names of Nexmark)


class Prices(NamedTuple):
    """What is known of some bids on an auction on a day."""

    auction: int
    day: int
    bids: int
    rank1: int
    rank2: int
    rank3: int
    least: int
    greatest: int
    total: int


def prices_of(bids: pa.RecordBatch) -> pa.Table:
    """The bids of a batch, together by auction and day: much less is sent."""
    price = bids["price"]
    is_low, is_high = pc.less(price, LOW), pc.greater_equal(price, HIGH)
    table = pa.table(
        {
            "auction": bids["auction"],
            "day": pc.divide(bids["dateTime"], DAY_MS),
            "price": price,
            "rank1": is_low.cast(pa.int64()),
            "rank2": pc.invert(pc.or_(is_low, is_high)).cast(pa.int64()),
            "rank3": is_high.cast(pa.int64()),
        }
    )
    sums = [(name, "sum") for name in ("rank1", "rank2", "rank3")]
    prices = [("price", "min"), ("price", "max"), ("price", "sum")]
    grouped = table.group_by(["auction", "day"], use_threads=False).aggregate([("price", "count"), *sums, *prices])
    return grouped.rename_columns(list(Prices._fields))


def together(a: Prices, b: Prices) -> Prices:
    return Prices(
        a.auction,
        a.day,
        a.bids + b.bids,
        a.rank1 + b.rank1,
        a.rank2 + b.rank2,
        a.rank3 + b.rank3,
        min(a.least, b.least),
        max(a.greatest, b.greatest),
        a.total + b.total,
    )


def results(events: Events) -> DataStream:
    prices = events.bids(Bid).map_batches(prices_of, output_type=Prices)
    return (
        prices.key_by(["auction", "day"])
        .reduce(together)
        .select(
            "auction",
            day=DAY,
            total_bids=col("bids"),
            rank1_bids=col("rank1"),
            rank2_bids=col("rank2"),
            rank3_bids=col("rank3"),
            min_price=col("least"),
            max_price=col("greatest"),
            avg_price=col("total") // col("bids"),
            sum_price=col("total"),
        )
    )
