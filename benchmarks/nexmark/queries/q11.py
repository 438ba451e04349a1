"""Bids per bidder and session: it ends when ten seconds have passed without a bid."""

from __future__ import annotations

from nexmark.events import Events
from penstock.datastream import DataStream
from penstock.datastream.window import EventTimeSessionWindows
from penstock.expressions import count, window_end, window_start


def results(events: Events) -> DataStream:
    sessions = events.bids(in_event_time=True).key_by("bidder").window(EventTimeSessionWindows.with_gap("10 s"))
    return sessions.aggregate(bid_count=count(), starttime=window_start(), endtime=window_end())
