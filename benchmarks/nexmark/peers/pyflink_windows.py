"""Queries with windows, in PyFlink's DataStream API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyflink.common import Row, Types
from pyflink.common.time import Time
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from pyflink.datastream.state import ListStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

from nexmark.peers.pyflink_streams import Streams

WINDOW = Time.seconds(10)
WINDOW_MS = 10_000


class Count(AggregateFunction):
    """How many there are."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class OfWindow(ProcessWindowFunction):
    """The count of a key with the end of its window."""

    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterable[Row]:
        for count in elements:
            yield Row(key, count, context.window().end)


class Busiest(KeyedProcessFunction):
    """The auctions with the highest count of a window, when all counts are known."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._counts = runtime_context.get_list_state(
            ListStateDescriptor("counts", Types.TUPLE([Types.LONG(), Types.LONG()]))
        )

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> None:
        self._counts.add((value[0], value[1]))
        ctx.timer_service().register_event_time_timer(value[2])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Row]:
        counts = list(self._counts.get())
        most = max(count for _, count in counts)
        for auction, count in counts:
            if count == most:
                yield Row(auction, count)
        self._counts.clear()


def q5(streams: Streams) -> DataStream:
    counts = (
        streams.timed("bids", "auction")
        .key_by(lambda bid: bid[0], Types.LONG())
        .window(SlidingEventTimeWindows.of(WINDOW, Time.seconds(2)))
        .aggregate(Count(), OfWindow(), Types.LONG(), Types.ROW([Types.LONG()] * 3))
    )
    return counts.key_by(lambda count: count[2], Types.LONG()).process(Busiest(), streams.result)


PARTS = 8
"""A window of all bids would be the work of one subtask: parts of it are looked at first."""
CANDIDATE = Types.ROW_NAMED(
    ["place", "auction", "bidder", "price", "time", "extra"], [*[Types.LONG()] * 5, Types.STRING()]
)


class HighestOfPart(AggregateFunction):
    """The bids with the highest price."""

    def create_accumulator(self) -> list[Row]:
        return []

    def add(self, value: Row, accumulator: list[Row]) -> list[Row]:
        if not accumulator or value[3] > accumulator[0][3]:
            return [value]
        if value[3] == accumulator[0][3]:
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

    def process(self, key: int, context: Any, elements: Iterable[list[Row]]) -> Iterable[Row]:
        end = context.window().end
        for bids in elements:
            for _, auction, bidder, price, time, extra in bids:
                yield Row(end, auction, bidder, price, time, extra)


class HighestOfWindow(KeyedProcessFunction):
    """Compares the candidates of a window when all are there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._candidates = runtime_context.get_list_state(ListStateDescriptor("candidates", CANDIDATE))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> None:
        self._candidates.add(value)
        ctx.timer_service().register_event_time_timer(value[0])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Row]:
        candidates = list(self._candidates.get())
        self._candidates.clear()
        # A window without bids has no highest price, whatever comes at its end.
        highest = max((each[3] for each in candidates if each[4] < timestamp), default=None)
        for _, auction, bidder, price, time, extra in candidates:
            if price == highest:
                yield Row(auction, bidder, price, time, extra)


class AtTheEnd(ProcessFunction):
    """Bids that may be exactly at the end of a window go to the side, too."""

    def __init__(self, side: OutputTag) -> None:
        self._side = side

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterable[Any]:
        seq, auction, bidder, price, time, extra, _ = value
        yield Row(seq, auction, bidder, price, time, extra)
        if time % WINDOW_MS == 0:
            yield self._side, Row(time, auction, bidder, price, time, extra)


def q7(streams: Streams) -> DataStream:
    at_the_end = OutputTag("at the end", CANDIDATE)
    bids = streams.timed("bids", "seq, auction, bidder, price, `dateTime`, extra")
    bids = bids.process(AtTheEnd(at_the_end), CANDIDATE)
    highest_of_parts = (
        bids.key_by(lambda bid: bid[0] % PARTS, Types.LONG())
        .window(TumblingEventTimeWindows.of(WINDOW))
        .aggregate(HighestOfPart(), Candidates(), Types.PICKLED_BYTE_ARRAY(), CANDIDATE)
    )
    candidates = highest_of_parts.union(bids.get_side_output(at_the_end))
    return candidates.key_by(lambda bid: bid[0], Types.LONG()).process(HighestOfWindow(), streams.result)


class NewSellers(ProcessWindowFunction):
    """A person who registered and sold in the window."""

    def process(self, key: int, context: Any, elements: Iterable[Row]) -> Iterable[Row]:
        name = None
        sells = False
        for element in elements:
            if element[1] is None:
                sells = True
            else:
                name = element[1]
        if sells and name is not None:
            yield Row(key, name, context.window().start)


def q8(streams: Streams) -> DataStream:
    who = Types.ROW([Types.LONG(), Types.STRING()])
    persons = streams.timed("persons", "id, name").map(lambda person: Row(person[0], person[1]), who)
    sellers = streams.timed("auctions", "seller").map(lambda auction: Row(auction[0], None), who)
    windows = (
        persons.union(sellers).key_by(lambda each: each[0], Types.LONG()).window(TumblingEventTimeWindows.of(WINDOW))
    )
    return windows.process(NewSellers(), streams.result)


class OfSession(ProcessWindowFunction):
    """The count of a key with the start and end of its session."""

    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterable[Row]:
        window = context.window()
        for count in elements:
            yield Row(key, count, window.start, window.end)


def q11(streams: Streams) -> DataStream:
    bids = streams.timed("bids", "bidder").key_by(lambda bid: bid[0], Types.LONG())
    sessions = bids.window(EventTimeSessionWindows.with_gap(WINDOW))
    return sessions.aggregate(Count(), OfSession(), Types.LONG(), streams.result)
