"""The tables of Nexmark, and the results of its queries: names, types, order of columns, keys.

No dependencies: contenders of every environment import it.
"""

from __future__ import annotations

from dataclasses import dataclass

LONG = "long"
TEXT = "text"
DECIMAL = "decimal(23,3)"

Columns = tuple[tuple[str, str], ...]


def columns(**types: str) -> Columns:
    """Columns by name, in this order."""
    return tuple(types.items())


PERSONS = columns(
    seq=LONG,
    id=LONG,
    name=TEXT,
    emailAddress=TEXT,
    creditCard=TEXT,
    city=TEXT,
    state=TEXT,
    dateTime=LONG,
    extra=TEXT,
)
AUCTIONS = columns(
    seq=LONG,
    id=LONG,
    itemName=TEXT,
    description=TEXT,
    initialBid=LONG,
    reserve=LONG,
    dateTime=LONG,
    expires=LONG,
    seller=LONG,
    category=LONG,
    extra=TEXT,
)
BIDS = columns(seq=LONG, auction=LONG, bidder=LONG, price=LONG, channel=TEXT, url=TEXT, dateTime=LONG, extra=TEXT)
TABLES: dict[str, Columns] = {"persons": PERSONS, "auctions": AUCTIONS, "bids": BIDS}


def topic_of(table: str) -> str:
    """The Kafka topic that has the rows of a table."""
    return f"nexmark-{table}"


@dataclass(frozen=True)
class Query:
    """What a query reads and gives."""

    reads: tuple[str, ...]
    """Tables; their rows are the records that a rate counts."""
    result: Columns
    key: tuple[str, ...] = ()
    """Of an updating result: what a row is replaced by. Empty: every row counts."""


_PLAIN_BID = columns(auction=LONG, bidder=LONG, price=LONG, dateTime=LONG, extra=TEXT)
_FULL_BID = BIDS[1:]
_PRICE_CLASSES = ("total", "rank1", "rank2", "rank3")


def _counted(*things: str) -> Columns:
    return tuple((f"{rank}_{thing}", LONG) for thing in things for rank in _PRICE_CLASSES)


_DISTINCT_COUNTS = _counted("bids", "bidders", "auctions")
_SESSIONS = columns(bidder=LONG, bid_count=LONG, starttime=LONG, endtime=LONG)
_BIDS = ("bids",)
_AUCTIONS_AND_BIDS = ("auctions", "bids")

QUERIES: dict[str, Query] = {
    "q0": Query(_BIDS, _PLAIN_BID),
    "q1": Query(_BIDS, columns(auction=LONG, bidder=LONG, price=DECIMAL, dateTime=LONG, extra=TEXT)),
    "q2": Query(_BIDS, columns(auction=LONG, price=LONG)),
    "q3": Query(("persons", "auctions"), columns(name=TEXT, city=TEXT, state=TEXT, id=LONG)),
    "q4": Query(_AUCTIONS_AND_BIDS, columns(category=LONG, avg_price=LONG), key=("category",)),
    "q5": Query(_BIDS, columns(auction=LONG, num=LONG)),
    "q6": Query(_AUCTIONS_AND_BIDS, columns(seller=LONG, avg_price=LONG), key=("seller",)),
    "q7": Query(_BIDS, _PLAIN_BID),
    "q8": Query(("persons", "auctions"), columns(id=LONG, name=TEXT, starttime=LONG)),
    "q9": Query(
        _AUCTIONS_AND_BIDS,
        AUCTIONS[1:] + columns(auction=LONG, bidder=LONG, price=LONG, bid_dateTime=LONG, bid_extra=TEXT),
        key=("id",),
    ),
    "q10": Query(_BIDS, _PLAIN_BID + columns(dt=TEXT, hm=TEXT)),
    "q11": Query(_BIDS, _SESSIONS),
    "q12": Query(_BIDS, _SESSIONS),
    "q13": Query(_BIDS, columns(auction=LONG, bidder=LONG, price=LONG, dateTime=LONG, value=TEXT)),
    "q14": Query(
        _BIDS,
        columns(
            auction=LONG,
            bidder=LONG,
            price=DECIMAL,
            bidTimeType=TEXT,
            dateTime=LONG,
            extra=TEXT,
            c_counts=LONG,
        ),
    ),
    "q15": Query(_BIDS, columns(day=TEXT) + _DISTINCT_COUNTS, key=("day",)),
    "q16": Query(_BIDS, columns(channel=TEXT, day=TEXT, minute=TEXT) + _DISTINCT_COUNTS, key=("channel", "day")),
    "q17": Query(
        _BIDS,
        columns(auction=LONG, day=TEXT)
        + _counted("bids")
        + columns(min_price=LONG, max_price=LONG, avg_price=LONG, sum_price=LONG),
        key=("auction", "day"),
    ),
    "q18": Query(_BIDS, _FULL_BID, key=("auction", "bidder")),
    "q19": Query(_BIDS, _FULL_BID + columns(rank_number=LONG), key=("auction", "rank_number")),
    "q20": Query(
        _AUCTIONS_AND_BIDS,
        _FULL_BID
        + columns(
            itemName=TEXT,
            description=TEXT,
            initialBid=LONG,
            reserve=LONG,
            auction_dateTime=LONG,
            expires=LONG,
            seller=LONG,
            category=LONG,
            auction_extra=TEXT,
        ),
    ),
    "q21": Query(_BIDS, columns(auction=LONG, bidder=LONG, price=LONG, channel=TEXT, channel_id=TEXT)),
    "q22": Query(
        _BIDS,
        columns(auction=LONG, bidder=LONG, price=LONG, channel=TEXT, dir1=TEXT, dir2=TEXT, dir3=TEXT),
    ),
    "q23": Query(
        ("persons", "auctions", "bids"),
        _FULL_BID
        + columns(
            name=TEXT,
            emailAddress=TEXT,
            creditCard=TEXT,
            city=TEXT,
            state=TEXT,
            person_dateTime=LONG,
            id=LONG,
            itemName=TEXT,
            initialBid=LONG,
            reserve=LONG,
            auction_dateTime=LONG,
            expires=LONG,
            category=LONG,
        ),
    ),
    "c0": Query(_BIDS, columns(auction=LONG, bidder=LONG, start_time=LONG, bottom_time=LONG, end_time=LONG)),
    "c1": Query(_BIDS, columns(auction=LONG, bidder=LONG, start_time=LONG, end_time=LONG, avg_price=LONG)),
    "c2": Query(_BIDS, columns(auction=LONG, bidder=LONG, start_time=LONG, end_time=LONG, avg_price=LONG)),
    "c3": Query(_BIDS, columns(auction=LONG, bidder=LONG, drop_time=LONG, drop_diff=LONG)),
}
