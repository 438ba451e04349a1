"""Who sells in some states: auctions joined to their sellers, whichever comes first, without a bound on time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nexmark.events import Events
from penstock.common import Row, Types
from penstock.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.expressions import col


class LocalAuction(NamedTuple):
    """An auction and where its seller lives."""

    name: str
    city: str
    state: str
    id: int


class WithSeller(KeyedCoProcessFunction):
    """Keeps the seller, and the auctions that came before."""

    def open(self, runtime_context: RuntimeContext) -> None:
        seller = Types.TUPLE([Types.STRING(), Types.STRING(), Types.STRING()])
        self._seller = runtime_context.get_state(ValueStateDescriptor("seller", seller))
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def process_element1(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterator[LocalAuction]:
        self._seller.update((value.name, value.city, value.state))
        for auction in self._waiting.get():
            yield LocalAuction(value.name, value.city, value.state, auction)
        self._waiting.clear()

    def process_element2(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterator[LocalAuction]:
        seller = self._seller.value()
        if seller is None:
            self._waiting.add(value.id)
        else:
            yield LocalAuction(*seller, value.id)


def results(events: Events) -> DataStream:
    sellers = events.persons().filter(col("state").isin(["OR", "ID", "CA"])).select("id", "name", "city", "state")
    auctions = events.auctions().filter(col("category") == 10).select("id", "seller")
    return sellers.connect(auctions).key_by("id", "seller").process(WithSeller())
