"""A price that is much lower than one shortly before."""

from __future__ import annotations

from typing import Any, NamedTuple

from nexmark.events import Events
from nexmark.queries.patterns import Match, found
from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.common import Row
from penstock.datastream import DataStream

DROP = 50


class Drop(NamedTuple):
    """When, and by how much."""

    auction: int
    bidder: int
    drop_time: int
    drop_diff: int


def first_price(ctx: Any) -> int:
    return next(iter(ctx.get_events_for_pattern("first"))).price


def is_near(bid: Row, ctx: Any) -> bool:
    return bid.price > first_price(ctx) - DROP


def is_far_below(bid: Row, ctx: Any) -> bool:
    return bid.price < first_price(ctx) - DROP


def drop(match: Match) -> Drop:
    first, last = match["first"][0], match["below"][0]
    return Drop(first.auction, first.bidder, first.dateTime, first.price - last.price)


def results(events: Events) -> DataStream:
    pattern = (
        Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event())
        .next("near")
        .where(is_near)
        .one_or_more()
        .optional()
        .consecutive()
        .greedy()
        .next("below")
        .where(is_far_below)
        .within("5 s")
    )
    return found(events, pattern, drop, Drop)
