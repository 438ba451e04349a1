"""Bids with the person who bids and everything that person sells: three streams, in any order, without time bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nexmark.events import Events
from nexmark.schema import LONG, QUERIES
from penstock.common import Row, Types
from penstock.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor

RESULT = QUERIES["q23"].result
BID = [name for name, _ in RESULT[:7]]
PERSON = ["name", "emailAddress", "creditCard", "city", "state", "dateTime"]
AUCTION = ["id", "itemName", "initialBid", "reserve", "dateTime", "expires", "category"]


class Pairs(KeyedCoProcessFunction):
    """Keeps all records of both sides; each new one meets all that the other side has."""

    def __init__(self, left_type: Any, right_type: Any, make: Callable[[Row, Row], Any]) -> None:
        self._types = left_type, right_type
        self._make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        left_type, right_type = self._types
        self._left = runtime_context.get_list_state(ListStateDescriptor("left", left_type))
        self._right = runtime_context.get_list_state(ListStateDescriptor("right", right_type))

    def process_element1(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self._left.add(value)
        for other in self._right.get():
            yield self._make(value, other)

    def process_element2(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self._right.add(value)
        for other in self._left.get():
            yield self._make(other, value)


def joined(
    left: DataStream, left_key: str, right: DataStream, right_key: str, make: Callable[[Row, Row], Any], output: Any
) -> DataStream:
    """What `make` makes of every pair with the same key."""
    pairs = Pairs(left.get_type(), right.get_type(), make)
    return left.connect(right).key_by(left_key, right_key).process(pairs, output)


def fields(row: Row, names: list[str]) -> list[Any]:
    return [row[name] for name in names]


def results(events: Events) -> DataStream:
    types = {name: Types.LONG() if kind == LONG else Types.STRING() for name, kind in RESULT}
    of_seller = [*types][len(BID) :]
    seller_type = Types.ROW_NAMED(["seller", *of_seller], [Types.LONG(), *(types[name] for name in of_seller)])
    persons = events.persons().select("id", *PERSON)
    auctions = events.auctions().select("seller", *AUCTION)
    sellers = joined(
        *(persons, "id"),
        *(auctions, "seller"),
        lambda person, auction: Row(person.id, *fields(person, PERSON), *fields(auction, AUCTION)),
        seller_type,
    )
    return joined(
        *(events.bids().select(*BID), "bidder"),
        *(sellers, "seller"),
        lambda bid, seller: Row(*fields(bid, BID), *fields(seller, of_seller)),
        Types.ROW_NAMED([*types], [*types.values()]),
    )
