"""The highest bids of every ten seconds.

A bid at the very end of a window counts too, if it is as high. So windows give their highest bids, and a function
waits until event time has passed the end of the window, and compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nexmark.events import Events
from penstock.common import Row
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from penstock.datastream.state import ListStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.expressions import col

SIZE_MS = 10_000
PARTS = 8
"""A window of all bids would be the work of one subtask: parts of it are looked at first."""


class Bid(NamedTuple):
    """A bid."""

    auction: int
    bidder: int
    price: int
    dateTime: int  # noqa: N815 (the names of Nexmark)
    extra: str


class Candidate(NamedTuple):
    """A bid that may be the highest of the window up to `end`."""

    end: int
    auction: int
    bidder: int
    price: int
    dateTime: int  # noqa: N815
    extra: str


class Highest(AggregateFunction):
    """The bids with the highest price."""

    def create_accumulator(self) -> list[Row]:
        return []

    def add(self, value: Row, accumulator: list[Row]) -> list[Row]:
        if not accumulator or value.price > accumulator[0].price:
            return [value]
        if value.price == accumulator[0].price:
            accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Row]) -> list[Row]:
        return accumulator

    def merge(self, acc_a: list[Row], acc_b: list[Row]) -> list[Row]:
        for bid in acc_b:
            acc_a = self.add(bid, acc_a)
        return acc_a


class Candidates(ProcessWindowFunction):
    """The highest bids of a part, with the end of their window."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context, elements: Iterable[list[Row]]
    ) -> Iterator[Candidate]:
        end = context.window().end
        for bids in elements:
            for bid in bids:
                yield Candidate(end, bid.auction, bid.bidder, bid.price, bid.dateTime, bid.extra)


class HighestOfWindow(KeyedProcessFunction):
    """Compares the candidates of a window when all are there."""

    def __init__(self, candidate_type: Any) -> None:
        self._type = candidate_type

    def open(self, runtime_context: RuntimeContext) -> None:
        self._candidates = runtime_context.get_list_state(ListStateDescriptor("candidates", self._type))

    def process_element(self, value: Candidate, ctx: KeyedProcessFunction.Context) -> Iterator[Bid]:
        self._candidates.add(value)
        ctx.timer_service().register_event_time_timer(value.end)
        return iter(())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Bid]:
        candidates = list(self._candidates.get())
        self._candidates.clear()
        # A window without bids has no highest price, whatever comes at its end.
        price = max((each.price for each in candidates if each.dateTime < timestamp), default=None)
        for each in candidates:
            if each.price == price:
                yield Bid(each.auction, each.bidder, each.price, each.dateTime, each.extra)


def results(events: Events) -> DataStream:
    bids = events.bids(in_event_time=True).select("seq", "auction", "bidder", "price", "dateTime", "extra")
    highest_of_parts = (
        bids.key_by(col("seq") % PARTS)
        .window(TumblingEventTimeWindows.of(SIZE_MS))
        .aggregate(Highest(), Candidates(), output_type=Candidate)
    )
    at_the_end = bids.filter(col("dateTime") % SIZE_MS == 0).map(
        lambda bid: Candidate(bid.dateTime, bid.auction, bid.bidder, bid.price, bid.dateTime, bid.extra),
        output_type=Candidate,
    )
    candidates = highest_of_parts.union(at_the_end)
    return candidates.key_by("end").process(HighestOfWindow(candidates.get_type()), output_type=Bid)
