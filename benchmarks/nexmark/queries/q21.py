"""Bids with the id of their channel: some are known, others are in the URL."""

from __future__ import annotations

from nexmark.events import Events
from penstock.datastream import DataStream
from penstock.expressions import col, when


def results(events: Events) -> DataStream:
    channel = col("channel").lower()
    channel_id = (
        when(channel == "apple", "0")
        .when(channel == "google", "1")
        .when(channel == "facebook", "2")
        .when(channel == "baidu", "3")
        .otherwise(col("url").regexp_extract("(&|^)channel_id=([^&]*)", 2))
    )
    bids = events.bids().select("auction", "bidder", "price", "channel", channel_id=channel_id)
    return bids.filter(col("channel_id").is_not_null())
