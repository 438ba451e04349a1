"""Prices that fall, one after the other, and then rise."""

from __future__ import annotations

from typing import Any, NamedTuple

from nexmark.events import Events
from nexmark.queries.patterns import Match, found
from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.common import Row
from penstock.datastream import DataStream


class Valley(NamedTuple):
    """When prices began to fall, were lowest, and rose again."""

    auction: int
    bidder: int
    start_time: int
    bottom_time: int
    end_time: int


def falls(bid: Row, ctx: Any) -> bool:
    before = list(ctx.get_events_for_pattern("down")) or list(ctx.get_events_for_pattern("start"))
    return bid.price < before[-1].price


def rises(bid: Row, ctx: Any) -> bool:
    return bid.price > list(ctx.get_events_for_pattern("down"))[-1].price


def valley(match: Match) -> Valley:
    start, bottom, end = match["start"][0], match["down"][-1], match["up"][0]
    return Valley(start.auction, start.bidder, start.dateTime, bottom.dateTime, end.dateTime)


def results(events: Events) -> DataStream:
    pattern = (
        Pattern.begin("start", AfterMatchSkipStrategy.skip_to_last("up"))
        .next("down")
        .where(falls)
        .one_or_more()
        .consecutive()
        .greedy()
        .next("up")
        .where(rises)
    )
    return found(events, pattern, valley, Valley)
