"""As long as the mean of prices is low; the next search begins behind what was found."""

from __future__ import annotations

from typing import Any, NamedTuple

from nexmark.events import Events
from nexmark.queries.patterns import Match, found
from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.common import Row
from penstock.datastream import DataStream

LIMIT = 10_000


class LowPrices(NamedTuple):
    """From when to when, and how low."""

    auction: int
    bidder: int
    start_time: int
    end_time: int
    avg_price: int


def mean_is_low(bid: Row, ctx: Any) -> bool:
    prices = [before.price for before in ctx.get_events_for_pattern("low")]
    return sum(prices) + bid.price < LIMIT * (len(prices) + 1)


def low_prices(match: Match) -> LowPrices:
    low = match["low"]
    mean = sum(bid.price for bid in low) // len(low)
    return LowPrices(low[0].auction, low[0].bidder, low[0].dateTime, low[-1].dateTime, mean)


def low_mean(events: Events, skip: AfterMatchSkipStrategy) -> DataStream:
    """What c1 and c2 look for."""
    pattern = Pattern.begin("low", skip).where(mean_is_low).one_or_more().consecutive().greedy().next("end")
    return found(events, pattern, low_prices, LowPrices)


def results(events: Events) -> DataStream:
    return low_mean(events, AfterMatchSkipStrategy.skip_past_last_event())
