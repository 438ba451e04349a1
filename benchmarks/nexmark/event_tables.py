"""Draws persons, auctions and bids: the random part of events whose numbers are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nexmark.event_numbers import EventNumbers, Longs, Settings
from nexmark.random_text import Filler, words

FIRST_ID = 1000
"""Of persons and of auctions."""
FIRST_CATEGORY, CATEGORIES = 10, 5
NOT_YET_BORN = 10
"""Bids and auctions may name so many persons or auctions that do not exist yet."""
HOT_EVERY = 100
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
COLD_CHANNELS = 10_000
INT_BITS = 32
PERSON_NUMBERS_BYTES, AUCTION_NUMBERS_BYTES, BID_NUMBERS_BYTES = 8, 48, 32


class EventTables:
    """Makes the tables of blocks of events. What all blocks share is drawn from the seed alone."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings = settings
        self._seed = seed
        shared = np.random.default_rng([seed, 0])
        self._filler = Filler(shared)
        self._channels, self._urls = _channels(shared)

    def make(self, block: int, events: EventNumbers) -> dict[str, pa.Table]:
        """The rows of the events, by table."""
        random = np.random.default_rng([self._seed, 1, block])
        return {
            "persons": self._persons(random, events.persons),
            "auctions": self._auctions(random, events.auctions),
            "bids": self._bids(random, events.bids),
        }

    def _persons(self, random: np.random.Generator, events: EventNumbers) -> pa.Table:
        number = len(events)
        space = pa.scalar(" ")
        digits = pc.utf8_lpad(pa.array(random.integers(0, 10_000, (4, number)).ravel()).cast(pa.string()), 4, "0")
        texts = {
            "name": pc.binary_join_element_wise(
                _one_of(random, FIRST_NAMES, number), _one_of(random, LAST_NAMES, number), space
            ),
            "emailAddress": pc.binary_join_element_wise(
                words(random, number, 7, " "), "@", words(random, number, 5, " "), ".com", ""
            ),
            "creditCard": pc.binary_join_element_wise(
                *(digits.slice(group * number, number) for group in range(4)), space
            ),
            "city": _one_of(random, CITIES, number),
            "state": _one_of(random, STATES, number),
        }
        used = PERSON_NUMBERS_BYTES + sum(map(_sizes, texts.values()))
        return pa.table(
            {
                "seq": events.seq,
                "id": events.youngest_person + FIRST_ID,
                **texts,
                "dateTime": events.times,
                "extra": self._filler.cut(random, used, self._settings.person_bytes),
            }
        )

    def _auctions(self, random: np.random.Generator, events: EventNumbers) -> pa.Table:
        number = len(events)
        times = events.times
        hot_seller = events.youngest_person // HOT_EVERY * HOT_EVERY
        seller = _mostly(random, self._settings.hot_sellers, hot_seller, self._some_person(random, events))
        initial = _prices(random, number)
        name, description = words(random, number, 20, " "), words(random, number, 100, " ")
        open_for = np.maximum(2 * events.until(self._settings.in_flight_auctions), 1)
        used = AUCTION_NUMBERS_BYTES + _sizes(name) + _sizes(description)
        return pa.table(
            {
                "seq": events.seq,
                "id": events.youngest_auction + FIRST_ID,
                "itemName": name,
                "description": description,
                "initialBid": initial,
                "reserve": initial + _prices(random, number),
                "dateTime": times,
                "expires": times + 1 + _below(random, open_for),
                "seller": seller + FIRST_ID,
                "category": FIRST_CATEGORY + random.integers(0, CATEGORIES, number),
                "extra": self._filler.cut(random, used, self._settings.auction_bytes),
            }
        )

    def _bids(self, random: np.random.Generator, events: EventNumbers) -> pa.Table:
        number = len(events)
        hot_auction = events.youngest_auction // HOT_EVERY * HOT_EVERY
        auction = _mostly(random, self._settings.hot_auctions, hot_auction, self._some_auction(random, events))
        hot_bidder = events.youngest_person // HOT_EVERY * HOT_EVERY + 1
        bidder = _mostly(random, self._settings.hot_bidders, hot_bidder, self._some_person(random, events))
        cold_channel = len(HOT_CHANNELS) + random.integers(0, COLD_CHANNELS, number)
        channel = _mostly(random, 2, random.integers(0, len(HOT_CHANNELS), number), cold_channel)
        return pa.table(
            {
                "seq": events.seq,
                "auction": auction + FIRST_ID,
                "bidder": bidder + (2 * FIRST_ID if self._settings.double_bidder_offset else FIRST_ID),
                "price": _prices(random, number),
                "channel": self._channels.take(pa.array(channel)),
                "url": self._urls.take(pa.array(channel)),
                "dateTime": events.times,
                "extra": self._filler.cut(
                    random, np.full(number, BID_NUMBERS_BYTES, np.int64), self._settings.bid_bytes
                ),
            }
        )

    def _some_person(self, random: np.random.Generator, events: EventNumbers) -> Longs:
        people = events.youngest_person + 1
        active = np.minimum(people, self._settings.active_people)
        return people - active + _below(random, active + NOT_YET_BORN)

    def _some_auction(self, random: np.random.Generator, events: EventNumbers) -> Longs:
        youngest = events.youngest_auction
        oldest = np.maximum(youngest - self._settings.in_flight_auctions, 0)
        return oldest + _below(random, youngest - oldest + 1 + NOT_YET_BORN)


def _below(random: np.random.Generator, limits: Longs) -> Longs:
    return (random.random(len(limits)) * limits).astype(np.int64)


def _mostly(random: np.random.Generator, ratio: int, usual: Any, other: Any) -> Longs:
    """The usual one, but for one in `ratio`."""
    return np.where(random.integers(0, ratio, len(usual)) == 0, other, usual)


def _prices(random: np.random.Generator, number: int) -> Longs:
    return np.floor(10.0 ** (6 * random.random(number)) * 100 + 0.5).astype(np.int64)


def _one_of(random: np.random.Generator, texts: tuple[str, ...], number: int) -> pa.StringArray:
    return pa.array(texts).take(pa.array(random.integers(0, len(texts), number)))


def _sizes(texts: pa.StringArray) -> Any:
    return pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)


def _channels(random: np.random.Generator) -> tuple[pa.StringArray, pa.StringArray]:
    """Names of channels and their URLs; most of those that are not hot have a channel id."""
    cold = [f"channel-{number}" for number in range(COLD_CHANNELS)]
    names = [*HOT_CHANNELS, *cold]
    folders = words(random, 3 * len(names), 5, "_").to_pylist()
    has_id = random.integers(0, 10, COLD_CHANNELS) > 0
    ends = [""] * len(HOT_CHANNELS) + [
        f"&channel_id={channel_id(number)}" if has_id[number] else "" for number in range(COLD_CHANNELS)
    ]
    urls = [
        f"https://www.nexmark.com/{'/'.join(folders[3 * place : 3 * place + 3])}/item.htm?query=1{end}"
        for place, end in enumerate(ends)
    ]
    return pa.array(names), pa.array(urls)


def channel_id(number: int) -> int:
    """The bits of a number of 32 bits in the reverse order, without sign; the least such number has no counterpart."""
    turned = int(f"{number:0{INT_BITS}b}"[::-1], 2)
    least = 1 << (INT_BITS - 1)
    if turned < least:
        return turned
    return -least if turned == least else 2 * least - turned
