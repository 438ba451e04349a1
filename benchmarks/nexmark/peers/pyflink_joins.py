"""Queries that join two streams, in PyFlink's DataStream API: a function with state for each side of a key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyflink.common import Row, Types
from pyflink.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

from nexmark.peers.pyflink_streams import Streams, row_type
from nexmark.schema import AUCTIONS, BIDS, LONG, QUERIES, TEXT, columns


class SellersAuctions(KeyedCoProcessFunction):
    """A person and the auctions that wait for it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        person = row_type(columns(name=TEXT, city=TEXT, state=TEXT))
        self._person = runtime_context.get_state(ValueStateDescriptor("person", person))
        self._auctions = runtime_context.get_list_state(ListStateDescriptor("auctions", Types.LONG()))

    def process_element1(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterable[Row]:
        _, name, city, state = value
        self._person.update(Row(name, city, state))
        for auction in self._auctions.get():
            yield Row(name, city, state, auction)
        self._auctions.clear()

    def process_element2(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterable[Row]:
        person = self._person.value()
        if person is None:
            self._auctions.add(value[0])
        else:
            yield Row(*person, value[0])


def q3(streams: Streams) -> DataStream:
    persons = streams.of("persons", "id, name, city, state", "state IN ('OR', 'ID', 'CA')")
    auctions = streams.of("auctions", "id, seller", "category = 10")
    both = persons.key_by(lambda person: person[0], Types.LONG()).connect(
        auctions.key_by(lambda auction: auction[1], Types.LONG())
    )
    return both.process(SellersAuctions(), streams.result)


AUCTION = row_type(AUCTIONS[1:])
PLAIN_BID = columns(auction=LONG, bidder=LONG, price=LONG, dateTime=LONG, extra=TEXT, seq=LONG)


class WinningBids(KeyedCoProcessFunction):
    """Auctions with their winning bids, once they have expired. Rows end with `seq` (bids) and the time of the JVM."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._auction = runtime_context.get_state(ValueStateDescriptor("auction", AUCTION))
        self._best = runtime_context.get_state(ValueStateDescriptor("best", row_type(PLAIN_BID)))
        self._early = runtime_context.get_list_state(ListStateDescriptor("early", row_type(PLAIN_BID)))

    def process_element1(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> None:
        *auction, _ = value
        self._auction.update(Row(*auction))
        for bid in self._early.get():
            self._offer(auction, bid)
        self._early.clear()
        ctx.timer_service().register_event_time_timer(auction[6])

    def process_element2(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> None:
        *bid, _ = value
        time = bid[3]
        auction = self._auction.value()
        if auction is not None:
            self._offer(auction, Row(*bid))
        elif time > ctx.timer_service().current_watermark():
            # Its auction may still come; when event time has passed the bid, it has not been open then.
            self._early.add(Row(*bid))
            ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Row]:
        auction = self._auction.value()
        if auction is None:
            self._early.update([bid for bid in self._early.get() if bid[3] > timestamp])
        elif auction[6] <= timestamp:
            best = self._best.value()
            if best is not None:
                *bid, _ = best
                yield Row(*auction, *bid)
            self._auction.clear()
            self._best.clear()

    def _offer(self, auction: Sequence[Any], bid: Row) -> None:
        if auction[5] <= bid[3] <= auction[6]:
            best = self._best.value()
            if best is None or _rank(bid) < _rank(best):
                self._best.update(bid)


def _rank(bid: Row) -> tuple[int, int, int]:
    return -bid[2], bid[3], bid[5]


def winning_bids(streams: Streams) -> DataStream:
    """The rows of q9."""
    auctions = streams.timed("auctions", ", ".join(f"`{name}`" for name, _ in AUCTIONS[1:]))
    bids = streams.timed("bids", ", ".join(f"`{name}`" for name, _ in PLAIN_BID))
    both = auctions.key_by(lambda auction: auction[0], Types.LONG()).connect(
        bids.key_by(lambda bid: bid[0], Types.LONG())
    )
    return both.process(WinningBids(), row_type(QUERIES["q9"].result))


def q9(streams: Streams) -> DataStream:
    return winning_bids(streams)


def q4(streams: Streams) -> DataStream:
    three = Types.ROW([Types.LONG()] * 3)
    sold = winning_bids(streams).map(lambda won: Row(won[8], won[12], 1), three)
    totals = sold.key_by(lambda each: each[0], Types.LONG()).reduce(lambda a, b: Row(a[0], a[1] + b[1], a[2] + b[2]))
    return totals.map(lambda each: Row(each[0], each[1] // each[2]), streams.result)


BID = row_type(BIDS[1:])


class BidsOfAuction(KeyedCoProcessFunction):
    """An auction and the bids that wait for it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._auction = runtime_context.get_state(ValueStateDescriptor("auction", AUCTION))
        self._early = runtime_context.get_list_state(ListStateDescriptor("early", BID))

    def process_element1(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterable[Row]:
        self._auction.update(value)
        for bid in self._early.get():
            yield Row(*bid, *list(value)[1:])
        self._early.clear()

    def process_element2(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterable[Row]:
        auction = self._auction.value()
        if auction is None:
            self._early.add(value)
        else:
            yield Row(*value, *list(auction)[1:])


def q20(streams: Streams) -> DataStream:
    auctions = streams.of("auctions", ", ".join(f"`{name}`" for name, _ in AUCTIONS[1:]), "category = 10")
    bids = streams.of("bids", ", ".join(f"`{name}`" for name, _ in BIDS[1:]))
    both = auctions.key_by(lambda auction: auction[0], Types.LONG()).connect(
        bids.key_by(lambda bid: bid[0], Types.LONG())
    )
    return both.process(BidsOfAuction(), streams.result)
