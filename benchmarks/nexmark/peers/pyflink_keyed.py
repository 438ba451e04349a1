"""Queries that keep something for each key, in PyFlink's DataStream API: what a bid changes is given anew."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Row, Types
from pyflink.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

from nexmark.peers.pyflink_streams import Streams
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

FULL_BID = "auction, bidder, price, channel, url, `dateTime`, extra"


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

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterable[Row]:
        bidder, auction, price, time = value
        yield Row(day_of(time), *self._counts.add(bidder, auction, price))


def q15(streams: Streams) -> DataStream:
    bids = streams.of("bids", "bidder, auction, price, `dateTime`")
    return bids.key_by(lambda bid: bid[3] // DAY_MS, Types.LONG()).process(CountsOfDay(), streams.result)


class CountsOfChannel(KeyedProcessFunction):
    """Says after each bid how the day of its channel stands."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._counts = DistinctCounts(runtime_context)
        self._latest = runtime_context.get_state(ValueStateDescriptor("latest", Types.LONG()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterable[Row]:
        bidder, auction, price, channel, time = value
        latest = max(self._latest.value() or 0, time)
        self._latest.update(latest)
        yield Row(channel, day_of(time), minute_of(latest), *self._counts.add(bidder, auction, price))


def q16(streams: Streams) -> DataStream:
    bids = streams.of("bids", "bidder, auction, price, channel, `dateTime`")
    key = Types.TUPLE([Types.STRING(), Types.LONG()])
    return bids.key_by(lambda bid: (bid[3], bid[4] // DAY_MS), key).process(CountsOfChannel(), streams.result)


class Totals(KeyedProcessFunction):
    """Counts and prices of an auction's day."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._totals = runtime_context.get_state(ValueStateDescriptor("totals", Types.TUPLE([Types.LONG()] * 7)))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterable[Row]:
        auction, price, time = value
        totals = add_price(self._totals.value(), price)
        self._totals.update(totals)
        *shown, total = totals
        yield Row(auction, day_of(time), *shown, total // totals[0], total)


def q17(streams: Streams) -> DataStream:
    bids = streams.of("bids", "auction, price, `dateTime`")
    key = Types.TUPLE([Types.LONG(), Types.LONG()])
    return bids.key_by(lambda bid: (bid[0], bid[2] // DAY_MS), key).process(Totals(), streams.result)


class Last(KeyedProcessFunction):
    """The last bid of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._newest = runtime_context.get_state(
            ValueStateDescriptor("newest", Types.TUPLE([Types.LONG(), Types.LONG()]))
        )

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterable[Row]:
        *bid, seq = value
        newest = self._newest.value()
        if newest is None or (bid[5], seq) > newest:
            self._newest.update((bid[5], seq))
            yield Row(*bid)


def q18(streams: Streams) -> DataStream:
    bids = streams.of("bids", f"{FULL_BID}, seq")
    key = Types.TUPLE([Types.LONG(), Types.LONG()])
    return bids.key_by(lambda bid: (bid[0], bid[1]), key).process(Last(), streams.result)


class Top(KeyedProcessFunction):
    """The ten highest bids of an auction; those that a bid has moved are given anew."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._best = runtime_context.get_state(ValueStateDescriptor("best", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterable[Row]:
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


def q19(streams: Streams) -> DataStream:
    bids = streams.of("bids", f"{FULL_BID}, seq")
    return bids.key_by(lambda bid: bid[0], Types.LONG()).process(Top(), streams.result)
