"""Every schedule of a join gives the same pairs."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.testing import fuzz

ORDERS = [(("ab"[n % 2], n), n * 450) for n in range(7)]
PAYMENTS = [(("ab"[n // 2 % 2], 100 + n), n * 510 + 20) for n in range(6)]
DISORDER = "1 s"
EXAMPLES = 10


def key(value: Any) -> str:
    return value[0]


def same_key(orders: Any, payments: Any) -> list[Any]:
    return [(order, payment) for order in orders for payment in payments if order[0][0] == payment[0][0]]


def close_pairs(orders: Any, payments: Any) -> list[Any]:
    return [
        ((order[1], payment[1]), max(t, u))
        for (order, t), (payment, u) in same_key(orders, payments)
        if -500 <= u - t <= 1_000
    ]


def test_an_interval_join_finds_every_pair_once() -> None:
    def pair(left: Any, right: Any, ctx: Any) -> Any:
        yield left[1], right[1]

    fuzz(
        lambda a, b: a.key_by(key).interval_join(b.key_by(key)).between(-500, 1_000).process(pair),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=close_pairs,
        max_examples=EXAMPLES,
    )


def test_an_interval_without_its_bounds() -> None:
    def pair(left: Any, right: Any, ctx: Any) -> Any:
        yield left[1], right[1]

    fuzz(
        lambda a, b: a.key_by(key).interval_join(b.key_by(key)).between(20, 140)
        .lower_bound_exclusive().upper_bound_exclusive().process(pair),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda orders, payments: [
            ((order[1], payment[1]), u)
            for (order, t), (payment, u) in same_key(orders, payments)
            if 20 < u - t < 140
        ],
        max_examples=EXAMPLES,
    )  # fmt: skip


def close_pairs_and_singles(orders: Any, payments: Any) -> list[Any]:
    pairs = close_pairs(orders, payments)
    joined = {number for pair, _ in pairs for number in pair}
    alone = [((n, None), t + 1_000) for (_, n), t in orders if n not in joined]
    return pairs + alone + [((None, n), t + 500) for (_, n), t in payments if n not in joined]


def test_a_full_interval_join_finds_every_pair_and_every_single() -> None:
    def pair(left: Any, right: Any, ctx: Any) -> Any:
        yield left and left[1], right and right[1]

    fuzz(
        lambda a, b: a.key_by(key).interval_join(b.key_by(key), how="full").between(-500, 1_000).process(pair),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=close_pairs_and_singles,
        max_examples=EXAMPLES,
    )


def window_pairs(orders: Any, payments: Any, how: str) -> list[Any]:
    pairs = [
        ((order[1], payment[1]), t // 1_000 * 1_000 + 999)
        for (order, t), (payment, u) in same_key(orders, payments)
        if t // 1_000 == u // 1_000
    ]
    joined = {number for pair, _ in pairs for number in pair}
    orders_alone = [((n, None), t // 1_000 * 1_000 + 999) for (_, n), t in orders if n not in joined]
    payments_alone = [((None, n), t // 1_000 * 1_000 + 999) for (_, n), t in payments if n not in joined]
    return pairs + orders_alone * (how in ("left", "full")) + payments_alone * (how in ("right", "full"))


@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_a_window_join_finds_every_pair_and_every_single(how: str) -> None:
    fuzz(
        lambda a, b: a.join(b, how).where(key).equal_to(key).window(TumblingEventTimeWindows.of("1 s")).apply(
            lambda left, right: (None if left is None else left[1], None if right is None else right[1])
        ),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda orders, payments: window_pairs(orders, payments, how),
        max_examples=EXAMPLES,
    )  # fmt: skip


def starts_of(timestamp: int) -> set[int]:
    """Of the windows of two seconds that begin every second."""
    return {timestamp // 1_000 * 1_000, timestamp // 1_000 * 1_000 - 1_000}


def test_a_join_in_sliding_windows_finds_a_pair_in_each() -> None:
    fuzz(
        lambda a, b: a.join(b).where(key).equal_to(key).window(SlidingEventTimeWindows.of("2 s", "1 s")).apply(
            lambda left, right: (left[1], right[1])
        ),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda orders, payments: [
            ((order[1], payment[1]), start + 1_999)
            for (order, t), (payment, u) in same_key(orders, payments)
            for start in starts_of(t) & starts_of(u)
        ],
        max_examples=EXAMPLES,
    )  # fmt: skip


def groups(orders: Any, payments: Any) -> list[Any]:
    found: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
    for side, records in enumerate((orders, payments)):
        for (name, number), timestamp in records:
            found.setdefault((name, timestamp // 1_000), ([], []))[side].append(number)
    return [(group, second * 1_000 + 999) for (_, second), group in found.items()]


def test_a_co_group_in_tumbling_windows_has_both_sides() -> None:
    fuzz(
        lambda a, b: a.co_group(b).where(key).equal_to(key).window(TumblingEventTimeWindows.of("1 s")).apply(
            lambda left, right: [(sorted(n for _, n in left), sorted(n for _, n in right))]
        ),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=groups,
        max_examples=EXAMPLES,
    )  # fmt: skip


def test_a_co_group_over_sessions_merges_alike() -> None:
    fuzz(
        lambda a, b: a.co_group(b).where(key).equal_to(key).window(EventTimeSessionWindows.with_gap("700 ms")).apply(
            lambda left, right: [(sorted(n for _, n in left), sorted(n for _, n in right))]
        ),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        max_examples=EXAMPLES,
    )  # fmt: skip


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_temporal_join_takes_the_version_of_its_time(how: str) -> None:
    def versions(orders: Any, prices: Any) -> list[Any]:
        results = []
        for (name, number), timestamp in orders:
            older = [(u, price) for (other, price), u in prices if other == name and u <= timestamp]
            if older or how == "left":
                results.append(((number, max(older)[1] if older else None), timestamp))
        return results

    fuzz(
        lambda a, b: a.key_by(key).temporal_join(b.key_by(key), how).apply(
            lambda order, price: (order[1], None if price is None else price[1])
        ),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=versions,
        max_examples=EXAMPLES,
    )  # fmt: skip
