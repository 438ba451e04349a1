"""What is fixed about an event by its number: kind, time, and who was the youngest person and auction then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]

SHUFFLE = 953
"""Prime: places of events within a group of disorder are multiples of it."""


@dataclass(frozen=True)
class Settings:
    """What can be chosen about the events."""

    rate: int = 10_000
    """Events a second of event time."""
    generators: int = 1
    base_time: int = 1_436_918_393_137
    first_event_id: int = 1
    first_event_number: int = 1
    person: int = 1
    auction: int = 3
    bid: int = 46
    """Of person + auction + bid events in a row, so many are bids."""
    hot_auctions: int = 2
    """One of so many bids is not on the hot auction; likewise below."""
    hot_bidders: int = 4
    hot_sellers: int = 4
    in_flight_auctions: int = 100
    active_people: int = 1000
    person_bytes: int = 200
    auction_bytes: int = 500
    bid_bytes: int = 100
    out_of_order_group: int = 1
    double_bidder_offset: bool = True

    @property
    def cycle(self) -> int:
        return self.person + self.auction + self.bid

    def time_of(self, numbers: Longs) -> Longs:
        """The event times of event numbers, in whole milliseconds."""
        delay_us = 1_000_000.0 / self.rate * self.generators
        return self.base_time + (numbers * delay_us).astype(np.int64) // 1000


DEFAULT_SETTINGS = Settings()


@dataclass(frozen=True)
class EventNumbers:
    """Some events: their places in the arrival order, and what follows from those."""

    settings: Settings
    seq: Longs
    number: Longs
    """In the order of time; differs from the arrival order where events come out of order."""

    @classmethod
    def of(cls, settings: Settings, start: int, number: int) -> EventNumbers:
        """The events from a place of the arrival order on."""
        seq = np.arange(start, start + number, dtype=np.int64)
        in_turn = settings.first_event_number + seq
        group = settings.out_of_order_group
        return cls(settings, seq, in_turn // group * group + in_turn * SHUFFLE % group)

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def times(self) -> Longs:
        return self.settings.time_of(self.number)

    @property
    def persons(self) -> EventNumbers:
        return self._where(self._place_in_cycle < self.settings.person)

    @property
    def auctions(self) -> EventNumbers:
        place = self._place_in_cycle
        first_bid = self.settings.person + self.settings.auction
        return self._where((place >= self.settings.person) & (place < first_bid))

    @property
    def bids(self) -> EventNumbers:
        return self._where(self._place_in_cycle >= self.settings.person + self.settings.auction)

    @property
    def youngest_person(self) -> Longs:
        """The number of the person who registered last, this event included."""
        return self._cycle * self.settings.person + np.minimum(self._place_in_cycle, self.settings.person - 1)

    @property
    def youngest_auction(self) -> Longs:
        """The number of the auction that opened last, this event included."""
        persons, auctions = self.settings.person, self.settings.auction
        opened = np.clip(self._place_in_cycle - persons, -1, auctions - 1)
        # A person comes before the auctions of its cycle: the last auction is that of the cycle before.
        return self._cycle * auctions + opened

    def until(self, more_auctions: int) -> Longs:
        """How many milliseconds after each event that many more auctions have opened."""
        ahead = more_auctions * self.settings.cycle // self.settings.auction
        return self.settings.time_of(self.number + ahead) - self.times

    @property
    def _event_id(self) -> Longs:
        return self.settings.first_event_id + self.number

    @property
    def _cycle(self) -> Longs:
        return self._event_id // self.settings.cycle

    @property
    def _place_in_cycle(self) -> Longs:
        return self._event_id % self.settings.cycle

    def _where(self, chosen: Any) -> EventNumbers:
        return EventNumbers(self.settings, self.seq[chosen], self.number[chosen])
