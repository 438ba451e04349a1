"""Prices in another currency, exact to the last digit."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from nexmark.events import Events
from penstock.datastream import DataStream

RATE = Decimal("0.908")


class PricedBid(NamedTuple):
    """A bid in the other currency."""

    auction: int
    bidder: int
    price: Decimal
    dateTime: int  # noqa: N815 (the names of Nexmark)
    extra: str


def in_other_currency(prices: pa.Array) -> pa.Array:
    """Decimals, computed by Arrow."""
    return pc.multiply(prices.cast(pa.decimal128(19, 0)), pa.scalar(RATE))


def converted(bids: pa.RecordBatch) -> pa.RecordBatch:
    return bids.set_column(2, "price", in_other_currency(bids["price"]))


def results(events: Events) -> DataStream:
    bids = events.bids().select("auction", "bidder", "price", "dateTime", "extra")
    return bids.map_batches(converted, output_type=PricedBid)
