"""The auctions with the most bids of the last ten seconds, every two seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nexmark.events import Events
from penstock.common import Row
from penstock.datastream import DataStream, ProcessWindowFunction
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.expressions import count, window_end


class HotAuction(NamedTuple):
    """An auction and the number of its bids."""

    auction: int
    num: int


class Hottest(ProcessWindowFunction):
    """All that have the highest number."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context, elements: Iterable[Row]
    ) -> Iterator[HotAuction]:
        counts = list(elements)
        highest = max(row.num for row in counts)
        return (HotAuction(row.auction, row.num) for row in counts if row.num == highest)


def results(events: Events) -> DataStream:
    counts = (
        events.bids(in_event_time=True)
        .key_by("auction")
        .window(SlidingEventTimeWindows.of("10 s", "2 s"))
        .aggregate(end=window_end(), num=count())
    )
    # The results of a window have its last millisecond as their time: those of one window are in one of these.
    return counts.key_by("end").window(TumblingEventTimeWindows.of("2 s")).process(Hottest())
