"""Who has registered and opened an auction within the same ten seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nexmark.events import Events
from penstock.common import Row
from penstock.datastream import CoGroupFunction, DataStream
from penstock.datastream.window import TumblingEventTimeWindows

SIZE_MS = 10_000


class NewSeller(NamedTuple):
    """A person, and the start of the window."""

    id: int
    name: str
    starttime: int


class SoldAtOnce(CoGroupFunction):
    """Each person once, however many auctions there are."""

    def co_group(self, first: list[Row], second: list[Row]) -> Iterator[NewSeller]:
        if second:
            for person in first:
                yield NewSeller(person.id, person.name, person.dateTime // SIZE_MS * SIZE_MS)


def results(events: Events) -> DataStream:
    persons = events.persons(in_event_time=True).select("id", "name", "dateTime")
    auctions = events.auctions(in_event_time=True).select("seller")
    together = persons.co_group(auctions).where("id").equal_to("seller")
    return together.window(TumblingEventTimeWindows.of(SIZE_MS)).apply(SoldAtOnce())
