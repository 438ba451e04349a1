"""Who has registered and opened an auction within the same ten seconds."""

from __future__ import annotations

from nexmark.events import Events
from penstock.common import Types
from penstock.datastream import DataStream
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.expressions import col, count, lit, max_, window_start

SIZE_MS = 10_000


def results(events: Events) -> DataStream:
    """A person is one record, and has a name; an auction is one of its seller, and has none."""
    no_name = lit(None).cast(Types.STRING())
    persons = events.persons(in_event_time=True).select("id", "name")
    auctions = events.auctions(in_event_time=True).select(id=col("seller"), name=no_name)
    windows = persons.union(auctions).key_by("id").window(TumblingEventTimeWindows.of(SIZE_MS))
    of_both = windows.aggregate(name=max_("name"), records=count(), starttime=window_start())
    is_both = col("name").is_not_null() & (col("records") > 1)
    return of_both.filter(is_both).select("id", "name", "starttime")
