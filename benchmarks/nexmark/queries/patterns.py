"""What the patterns of the annex share: bids of one bidder on one auction, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nexmark.events import Events
from penstock.cep import CEP, Pattern
from penstock.common import Row
from penstock.datastream import DataStream

Match = dict[str, list[Row]]


def by_arrival(a: Row, b: Row) -> int:
    """The order of bids of the same millisecond."""
    return a.seq - b.seq


def found(events: Events, pattern: Pattern, describe: Callable[[Any], Any], output: type) -> DataStream:
    """What `describe` makes of every match."""
    bids = events.bids(in_event_time=True).select("seq", "auction", "bidder", "price", "dateTime")
    return CEP.pattern(bids.key_by(["auction", "bidder"]), pattern, by_arrival).select(describe, output)
