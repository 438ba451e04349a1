"""Bids per bidder and ten seconds of processing time."""

from __future__ import annotations

from nexmark.events import Events
from penstock.datastream import DataStream
from penstock.datastream.window import TumblingProcessingTimeWindows
from penstock.expressions import count, window_end, window_start


def results(events: Events) -> DataStream:
    windows = events.bids().key_by("bidder").window(TumblingProcessingTimeWindows.of("10 s"))
    return windows.aggregate(bid_count=count(), starttime=window_start(), endtime=window_end())
