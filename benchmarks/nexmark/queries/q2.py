"""Bids on some auctions."""

from __future__ import annotations

from nexmark.events import Events
from penstock.datastream import DataStream
from penstock.expressions import col


def results(events: Events) -> DataStream:
    return events.bids().filter(col("auction") % 123 == 0).select("auction", "price")
