"""q15 to q19 with a function for each record: what `peers/pyflink_keyed.py` does, in Penstock.

The programs of these queries in files of their own take batches. PyFlink has no such functions, so that a ratio to it
would compare two ways to write a program; these are written in its way, with the same functions of single values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nexmark.events import Events
from nexmark.peers.python_functions import (
    DAY_MS,
    PLACES,
    add_price,
    class_of,
    count_distinct,
    day_of,
    minute_of,
    place_among,
)
from nexmark.schema import LONG, QUERIES
from penstock.common import Row, Types
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor

FULL_BID = ("auction", "bidder", "price", "channel", "url", "dateTime", "extra")


class DistinctCounts:
    """Bids, distinct bidders and distinct auctions of the current key: in total, then by class of price."""

    def __init__(self, runtime_context: RuntimeContext) -> None:
        self._counts = runtime_context.get_state(ValueStateDescriptor("counts", Types.LIST(Types.LONG())))
        self._bidders = runtime_context.get_map_state(MapStateDescriptor("bidders", Types.LONG(), Types.INT()))
        self._auctions = runtime_context.get_map_state(MapStateDescriptor("auctions", Types.LONG(), Types.INT()))

    def add(self, bidder: int, auction: int, price: int) -> list[int]:
        counts = self._counts.value() or [0] * 12
        rank = class_of(price)
        counts[0] += 1
        counts[rank] += 1
        count_distinct(counts, self._bidders, bidder, 4, rank)
        count_distinct(counts, self._auctions, auction, 8, rank)
        self._counts.update(counts)
        return counts


class CountsOfDay(KeyedProcessFunction):
    """Says after each bid how the day stands."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._counts = DistinctCounts(runtime_context)

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        bidder, auction, price, time = value
        yield Row(day_of(time), *self._counts.add(bidder, auction, price))


def q15(events: Events) -> DataStream:
    bids = events.bids().select("bidder", "auction", "price", "dateTime")
    return bids.key_by(lambda bid: bid[3] // DAY_MS, Types.LONG()).process(CountsOfDay(), result_type("q15"))


class CountsOfChannel(KeyedProcessFunction):
    """Says after each bid how the day of its channel stands."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._counts = DistinctCounts(runtime_context)
        self._latest = runtime_context.get_state(ValueStateDescriptor("latest", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        bidder, auction, price, channel, time = value
        latest = max(self._latest.value() or 0, time)
        self._latest.update(latest)
        yield Row(channel, day_of(time), minute_of(latest), *self._counts.add(bidder, auction, price))


def q16(events: Events) -> DataStream:
    bids = events.bids().select("bidder", "auction", "price", "channel", "dateTime")
    key = Types.TUPLE([Types.STRING(), Types.LONG()])
    return bids.key_by(lambda bid: (bid[3], bid[4] // DAY_MS), key).process(CountsOfChannel(), result_type("q16"))


class Totals(KeyedProcessFunction):
    """Counts and prices of an auction's day."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._totals = runtime_context.get_state(ValueStateDescriptor("totals", Types.TUPLE([Types.LONG()] * 7)))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        auction, price, time = value
        totals = add_price(self._totals.value(), price)
        self._totals.update(totals)
        *shown, total = totals
        yield Row(auction, day_of(time), *shown, total // totals[0], total)


def q17(events: Events) -> DataStream:
    bids = events.bids().select("auction", "price", "dateTime")
    key = Types.TUPLE([Types.LONG(), Types.LONG()])
    return bids.key_by(lambda bid: (bid[0], bid[2] // DAY_MS), key).process(Totals(), result_type("q17"))


class Last(KeyedProcessFunction):
    """The last bid of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        newest = ValueStateDescriptor("newest", Types.TUPLE([Types.LONG(), Types.LONG()]))
        self._newest = runtime_context.get_state(newest)

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        *bid, seq = value
        newest = self._newest.value()
        if newest is None or (bid[5], seq) > newest:
            self._newest.update((bid[5], seq))
            yield Row(*bid)


def q18(events: Events) -> DataStream:
    bids = events.bids().select(*FULL_BID, "seq")
    key = Types.TUPLE([Types.LONG(), Types.LONG()])
    return bids.key_by(lambda bid: (bid[0], bid[1]), key).process(Last(), result_type("q18"))


class Top(KeyedProcessFunction):
    """The ten highest bids of an auction; those that a bid has moved are given anew."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._best = runtime_context.get_state(ValueStateDescriptor("best", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        *bid, seq = value
        best = self._best.value() or []
        rank = bid[2], -seq
        place = place_among(best, rank)
        if place is None:
            return
        best = [*best[:place], (rank, bid), *best[place : PLACES - 1]]
        self._best.update(best)
        for number in range(place, len(best)):
            yield Row(*best[number][1], number + 1)


def q19(events: Events) -> DataStream:
    bids = events.bids().select(*FULL_BID, "seq")
    return bids.key_by(lambda bid: bid[0], Types.LONG()).process(Top(), result_type("q19"))


def result_type(query: str) -> Any:
    """The type of the rows of a result."""
    names, kinds = zip(*QUERIES[query].result, strict=True)
    return Types.ROW_NAMED(list(names), [Types.LONG() if kind == LONG else Types.STRING() for kind in kinds])


PROGRAMS: dict[str, Callable[[Events], DataStream]] = {"q15": q15, "q16": q16, "q17": q17, "q18": q18, "q19": q19}
