"""Bids with the folders of their URLs."""

from __future__ import annotations

from nexmark.events import Events
from penstock.datastream import DataStream
from penstock.expressions import col


def results(events: Events) -> DataStream:
    parts = col("url").split("/")
    return events.bids().select(
        "auction",
        "bidder",
        "price",
        "channel",
        dir1=parts.element_at(3),
        dir2=parts.element_at(4),
        dir3=parts.element_at(5),
    )
