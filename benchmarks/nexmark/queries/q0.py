"""Every bid, without channel and URL."""

from __future__ import annotations

from nexmark.events import Events
from penstock.datastream import DataStream


def results(events: Events) -> DataStream:
    return events.bids().select("auction", "bidder", "price", "dateTime", "extra")
