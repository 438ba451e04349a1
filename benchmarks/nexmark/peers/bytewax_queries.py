"""Nexmark as bytewax flows; the one that is asked for is `flow`.

bytewax has no watermarks of the whole stream: each key has a clock of its own, which waits for records that come late,
and nothing holds back a process that reads faster than the other: in q7, where one of them has all the work, the other
was more than a minute of event time ahead, and what it had to wait for was dropped as late. So clocks wait for an hour.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.operators import windowing as win

from nexmark.peers.bytewax_files import QUERY, SIDE_INPUT, Results, Rows, Tuple
from nexmark.peers.flink_input import READERS
from nexmark.peers.python_functions import (
    DAY_MS,
    PLACES,
    RATE,
    SIDE_INPUT_KEYS,
    add_price,
    channel_id_of,
    class_of,
    count_distinct,
    day_of,
    minute_of,
    part_of_day,
    place_among,
    read_side_input,
)
from nexmark.schema import AUCTIONS, BIDS

PLAIN_BID = "auction bidder price dateTime extra"
FULL_BID = " ".join(name for name, _ in BIDS[1:])
AUCTION = " ".join(name for name, _ in AUCTIONS[1:])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
WINDOW_MS = 10_000
WINDOW = WINDOW_MS * MILLISECOND
TUMBLING = win.TumblingWindower(WINDOW, EPOCH)
WAIT = timedelta(hours=1)
SIDE_A, SIDE_B = 0, 1


def rows(flow: Dataflow, table: str, columns: str) -> Stream[Tuple]:
    return op.input(table, flow, Rows(table, columns, READERS))


def q0(flow: Dataflow) -> Stream[Tuple]:
    return op.map("copy", rows(flow, "bids", PLAIN_BID), lambda bid: bid)


def in_euros(bid: Tuple) -> Tuple:
    auction, bidder, price, time, extra = bid
    return auction, bidder, price * RATE, time, extra


def q1(flow: Dataflow) -> Stream[Tuple]:
    return op.map("convert", rows(flow, "bids", PLAIN_BID), in_euros)


def q2(flow: Dataflow) -> Stream[Tuple]:
    return op.filter("some", rows(flow, "bids", "auction price"), lambda bid: bid[0] % 123 == 0)


def q13(flow: Dataflow) -> Stream[Tuple]:
    values = read_side_input(os.environ[SIDE_INPUT])
    bids = rows(flow, "bids", "auction bidder price dateTime")
    return op.map("look up", bids, lambda bid: (*bid, values[bid[0] % SIDE_INPUT_KEYS]))


def calculate(bid: Tuple) -> Tuple | None:
    auction, bidder, price, time, extra = bid
    euros = price * RATE
    if not 1_000_000 < euros < 50_000_000:
        return None
    return auction, bidder, euros, part_of_day(time), time, extra, extra.count("c")


def q14(flow: Dataflow) -> Stream[Tuple]:
    return op.filter_map("calculate", rows(flow, "bids", PLAIN_BID), calculate)


def add_channel_id(bid: Tuple) -> Tuple | None:
    auction, bidder, price, channel, url = bid
    channel_id = channel_id_of(channel, url)
    return None if channel_id is None else (auction, bidder, price, channel, channel_id)


def q21(flow: Dataflow) -> Stream[Tuple]:
    return op.filter_map("channel id", rows(flow, "bids", "auction bidder price channel url"), add_channel_id)


def with_folders(bid: Tuple) -> Tuple:
    auction, bidder, price, channel, url = bid
    parts = url.split("/")
    return auction, bidder, price, channel, parts[3], parts[4], parts[5]


def q22(flow: Dataflow) -> Stream[Tuple]:
    return op.map("folders", rows(flow, "bids", "auction bidder price channel url"), with_folders)


def keyed_values(
    step: str,
    up: Stream[Tuple],
    key: Callable[[Tuple], str],
    function: Callable[[Any, Tuple], tuple[Any, Iterable[Tuple]]],
) -> Stream[Tuple]:
    """What a function of state and row gives for each key."""
    return op.key_rm(f"{step} without key", op.stateful_flat_map(step, op.key_on(f"{step} key", up, key), function))


def totals(state: Tuple | None, bid: Tuple) -> tuple[Tuple, Iterable[Tuple]]:
    auction, price, time = bid
    state = add_price(state, price)
    *shown, total = state
    return state, [(auction, day_of(time), *shown, total // state[0], total)]


def q17(flow: Dataflow) -> Stream[Tuple]:
    bids = rows(flow, "bids", "auction price dateTime")
    return keyed_values("totals", bids, lambda bid: f"{bid[0]} {bid[2] // DAY_MS}", totals)


Counts = tuple[list[int], dict[int, int], dict[int, int]]
"""Twelve counts, and the bidders and auctions that were seen."""


def add_bid(state: Counts | None, bidder: int, auction: int, price: int) -> Counts:
    counts, bidders, auctions = state or ([0] * 12, {}, {})
    rank = class_of(price)
    counts[0] += 1
    counts[rank] += 1
    count_distinct(counts, bidders, bidder, 4, rank)
    count_distinct(counts, auctions, auction, 8, rank)
    return counts, bidders, auctions


def counts_of_day(state: Counts | None, bid: Tuple) -> tuple[Counts, Iterable[Tuple]]:
    bidder, auction, price, time = bid
    state = add_bid(state, bidder, auction, price)
    return state, [(day_of(time), *state[0])]


def q15(flow: Dataflow) -> Stream[Tuple]:
    bids = rows(flow, "bids", "bidder auction price dateTime")
    return keyed_values("counts", bids, lambda bid: str(bid[3] // DAY_MS), counts_of_day)


def counts_of_channel(state: tuple[int, Counts] | None, bid: Tuple) -> tuple[tuple[int, Counts], Iterable[Tuple]]:
    bidder, auction, price, time, channel = bid
    latest, counts = state or (0, None)
    latest, counts = max(latest, time), add_bid(counts, bidder, auction, price)
    return (latest, counts), [(channel, day_of(time), minute_of(latest), *counts[0])]


def q16(flow: Dataflow) -> Stream[Tuple]:
    bids = rows(flow, "bids", "bidder auction price dateTime channel")
    return keyed_values("counts", bids, lambda bid: f"{bid[4]} {bid[3] // DAY_MS}", counts_of_channel)


def last(newest: Tuple | None, bid: Tuple) -> tuple[Tuple, Iterable[Tuple]]:
    time, seq = bid[5], bid[7]
    if newest is not None and newest > (time, seq):
        return newest, ()
    return (time, seq), [bid[:7]]


def q18(flow: Dataflow) -> Stream[Tuple]:
    return keyed_values("last", rows(flow, "bids", f"{FULL_BID} seq"), lambda bid: f"{bid[0]} {bid[1]}", last)


def top(best: list[Any] | None, bid: Tuple) -> tuple[list[Any], Iterable[Tuple]]:
    best = best or []
    rank = bid[2], -bid[7]
    place = place_among(best, rank)
    if place is None:
        return best, ()
    best.insert(place, (rank, bid[:7]))
    del best[PLACES:]
    return best, [(*best[number][1], number + 1) for number in range(place, len(best))]


def q19(flow: Dataflow) -> Stream[Tuple]:
    return keyed_values("top", rows(flow, "bids", f"{FULL_BID} seq"), lambda bid: str(bid[0]), top)


def two_sides(
    first: Stream[Tuple], first_key: int, second: Stream[Tuple], second_key: int
) -> Stream[tuple[str, tuple[int, Tuple]]]:
    """Rows of two tables in one keyed stream, each with its side."""
    return op.merge(
        "sides",
        op.map("side a", first, lambda row: (str(row[first_key]), (SIDE_A, row))),
        op.map("side b", second, lambda row: (str(row[second_key]), (SIDE_B, row))),
    )


def joined(
    streams: Stream[tuple[str, tuple[int, Tuple]]], make: Callable[[Tuple, Tuple], Iterable[Tuple]]
) -> Stream[Tuple]:
    """Rows of side b with the one of side a, which may come later."""

    def step(state: tuple[Tuple | None, list[Tuple]] | None, value: tuple[int, Tuple]) -> tuple[Any, Iterable[Tuple]]:
        one, waiting = state or (None, [])
        side, row = value
        if side == SIDE_A:
            return (row, []), [result for each in waiting for result in make(row, each)]
        if one is None:
            waiting.append(row)
            return (None, waiting), ()
        return (one, waiting), make(one, row)

    return op.key_rm("without key", op.stateful_flat_map("join", streams, step))


def q3(flow: Dataflow) -> Stream[Tuple]:
    persons = op.filter(
        "states", rows(flow, "persons", "id name city state"), lambda person: person[3] in {"OR", "ID", "CA"}
    )
    auctions = op.filter("category", rows(flow, "auctions", "id seller category"), lambda auction: auction[2] == 10)
    return joined(two_sides(persons, 0, auctions, 1), lambda person, auction: [(*person[1:], auction[0])])


def q20(flow: Dataflow) -> Stream[Tuple]:
    auctions = op.filter("category", rows(flow, "auctions", AUCTION), lambda auction: auction[8] == 10)
    streams = two_sides(auctions, 0, rows(flow, "bids", FULL_BID), 0)
    return joined(streams, lambda auction, bid: [(*bid, *auction[1:])])


def better_bids(
    state: tuple[Tuple | None, Any, list[Tuple]] | None, value: tuple[int, Tuple]
) -> tuple[Any, list[tuple[Tuple, Tuple | None, Tuple]]]:
    """The auction, its best bid so far and the better one: as often as there is one."""
    auction, best, waiting = state or (None, None, [])
    side, row = value
    if side == SIDE_A:
        auction, offered, waiting = row, waiting, []
    elif auction is None:
        waiting.append(row)
        offered = []
    else:
        offered = [row]
    found = []
    for bid in offered:
        _, _, price, time, _, seq = bid
        if auction[5] <= time <= auction[6] and (best is None or (price, -time, -seq) > _rank(best)):
            found.append((auction, best, bid))
            best = bid
    return (auction, best, waiting), found


def _rank(bid: Tuple) -> Tuple:
    return bid[2], -bid[3], -bid[5]


def better(flow: Dataflow) -> Stream[tuple[str, tuple[Tuple, Tuple | None, Tuple]]]:
    streams = two_sides(rows(flow, "auctions", AUCTION), 0, rows(flow, "bids", f"{PLAIN_BID} seq"), 0)
    return op.stateful_flat_map("better", streams, better_bids)


def q9(flow: Dataflow) -> Stream[Tuple]:
    return op.map("show", better(flow), lambda keyed: (*keyed[1][0], *keyed[1][2][:5]))


def mean(state: tuple[int, int] | None, change: tuple[int, int, int]) -> tuple[tuple[int, int], Iterable[Tuple]]:
    total, auctions = state or (0, 0)
    category, more, number = change
    total, auctions = total + more, auctions + number
    return (total, auctions), [(category, total // auctions)]


def change_of(keyed: tuple[str, tuple[Tuple, Tuple | None, Tuple]]) -> tuple[int, int, int]:
    auction, before, now = keyed[1]
    return auction[8], now[2] - (before[2] if before else 0), 0 if before else 1


def q4(flow: Dataflow) -> Stream[Tuple]:
    return keyed_values("mean", op.map("change", better(flow), change_of), lambda change: str(change[0]), mean)


def time_of(place: int) -> Callable[[Tuple], datetime]:
    return lambda row: EPOCH + row[place] * MILLISECOND


def clock(place: int) -> win.EventClock[Tuple, Any]:
    return win.EventClock(time_of(place), wait_for_system_duration=WAIT)


def q7(flow: Dataflow) -> Stream[Tuple]:
    """A window over all bids is one key: one of the processes does the work."""
    bids = op.flat_map("ends", rows(flow, "bids", PLAIN_BID), with_window)
    windows = win.fold_window(
        "highest",
        op.key_on("all", bids, lambda _: "all"),
        clock(0),
        TUMBLING,
        lambda: None,
        higher,
        both_highest,
        False,
    )
    return op.flat_map("show", windows.down, highest_bids)


def with_window(bid: Tuple) -> Iterable[Tuple]:
    """The start of its window, whether the bid is at the very end of it, and the bid."""
    time = bid[3]
    start = time // WINDOW_MS * WINDOW_MS
    yield start, False, bid
    if start == time:
        yield start - WINDOW_MS, True, bid


Highest = tuple[int, list[Tuple], list[Tuple]]
"""The highest price, its bids, and the bids at the end of the window."""


def higher(highest: Highest | None, value: Tuple) -> Highest:
    _, is_at_end, bid = value
    return both_highest(highest or (-1, [], []), (-1, [], [bid]) if is_at_end else (bid[2], [bid], []))


def both_highest(a: Highest, b: Highest) -> Highest:
    at_end = a[2] + b[2] if a[2] or b[2] else a[2]
    if a[0] == b[0]:
        return a[0], a[1] + b[1], at_end
    return (a[0], a[1], at_end) if a[0] > b[0] else (b[0], b[1], at_end)


def highest_bids(keyed: tuple[str, tuple[int, Highest]]) -> Iterable[Tuple]:
    price, bids, at_end = keyed[1][1]
    return [*bids, *(bid for bid in at_end if bid[2] == price)]


def q8(flow: Dataflow) -> Stream[Tuple]:
    persons = op.map("person", rows(flow, "persons", "id name dateTime"), lambda row: (row[2], row[0], row[1]))
    sellers = op.map("seller", rows(flow, "auctions", "seller dateTime"), lambda row: (row[1], row[0], None))
    keyed = op.key_on("id", op.merge("both", persons, sellers), lambda row: str(row[1]))
    windows = win.fold_window("new sellers", keyed, clock(0), TUMBLING, lambda: (0, None, False), met, both_met, False)
    return op.filter_map("show", windows.down, new_seller)


def met(found: Tuple, row: Tuple) -> Tuple:
    time, _, name = row
    return both_met(found, (time // WINDOW_MS * WINDOW_MS, name, name is None))


def both_met(a: Tuple, b: Tuple) -> Tuple:
    return max(a[0], b[0]), a[1] or b[1], a[2] or b[2]


def new_seller(keyed: tuple[str, tuple[int, Tuple]]) -> Tuple | None:
    person, (_, (start, name, sells)) = keyed
    return (int(person), name, start) if sells and name is not None else None


def q11(flow: Dataflow) -> Stream[Tuple]:
    bids = op.key_on("bidder", rows(flow, "bids", "bidder dateTime"), lambda bid: str(bid[0]))
    sessions = win.fold_window(
        "sessions", bids, clock(1), win.SessionWindower(WINDOW), lambda: None, widened, both_sessions, False
    )
    return op.map("show", sessions.down, shown_session)


def widened(session: Tuple | None, bid: Tuple) -> Tuple:
    if session is None:
        return 1, bid[1], bid[1]
    return session[0] + 1, min(session[1], bid[1]), max(session[2], bid[1])


def both_sessions(a: Tuple, b: Tuple) -> Tuple:
    return a[0] + b[0], min(a[1], b[1]), max(a[2], b[2])


def shown_session(keyed: tuple[str, tuple[int, Tuple]]) -> Tuple:
    bidder, (_, (count, first, latest)) = keyed
    return int(bidder), count, first, latest + WINDOW_MS


QUERIES: dict[str, Callable[[Dataflow], Stream[Tuple]]] = {
    "q0": q0,
    "q1": q1,
    "q2": q2,
    "q3": q3,
    "q4": q4,
    "q7": q7,
    "q8": q8,
    "q9": q9,
    "q11": q11,
    "q13": q13,
    "q14": q14,
    "q15": q15,
    "q16": q16,
    "q17": q17,
    "q18": q18,
    "q19": q19,
    "q20": q20,
    "q21": q21,
    "q22": q22,
}

flow = Dataflow(os.environ[QUERY])
op.output("results", QUERIES[os.environ[QUERY]](flow), Results())
