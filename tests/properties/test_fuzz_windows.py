"""Every schedule of windows that are computed in columns, or that others do not show, gives the same answer."""

from __future__ import annotations

from typing import Any

import pandas
import pytest

from penstock.common import Row, Types
from penstock.datastream import ProcessWindowFunction
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    WindowAssigner,
)
from penstock.expressions import count, max_, sum_, window_end, window_start
from penstock.testing import fuzz

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
RECORDS = [(("abc"[n * 7 % 3], n), n * 370) for n in range(12)]
DISORDER = "1 s"
EXAMPLES = 8


def key(value: Any) -> str:
    return value[0]


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, window.end, sorted(number for _, number in elements)


@pytest.mark.parametrize(
    "assigner",
    [
        EventTimeSessionWindows.with_gap("1200 ms"),
        SlidingEventTimeWindows.of("2 s", "1 s"),
        CumulativeEventTimeWindows.of("3 s", "1 s"),
    ],
    ids=lambda assigner: type(assigner).__name__,
)
def test_named_aggregates_are_the_same_in_every_schedule(assigner: WindowAssigner[Any, Any]) -> None:
    def build(stream: Any) -> Any:
        windows = stream.key_by("f0").window(assigner)
        by_name = windows.aggregate(
            start=window_start(), end=window_end(), n=count(), total=sum_("f1"), greatest=max_("f1")
        )
        return by_name.map(tuple, Types.PICKLED_BYTE_ARRAY())

    fuzz(build, RECORDS, disorder=DISORDER, timestamps=True, types=[PAIR], max_examples=EXAMPLES)


def test_recognised_reduces_in_sessions() -> None:
    fuzz(
        lambda s: s.key_by("f0").window(EventTimeSessionWindows.with_gap("1200 ms")).sum(1),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=session_sums,
        types=[PAIR],
        max_examples=EXAMPLES,
    )


def session_sums(records: Any) -> list[Any]:
    results: list[Any] = []
    for name in "abc":
        end = total = 0
        for timestamp, number in sorted((t, n) for (other, n), t in records if other == name):
            if end and timestamp > end:
                results.append(((name, total), end - 1))
                total = 0
            end, total = timestamp + 1_200, total + number
        if end:
            results.append(((name, total), end - 1))
    return results


def test_sessions_with_a_gap_of_their_records() -> None:
    gaps = EventTimeSessionWindows.with_dynamic_gap(lambda pair: 300 + 150 * (pair[1] % 7))
    fuzz(
        lambda s: s.key_by(key).window(gaps).process(Contents()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        max_examples=EXAMPLES,
    )


def test_a_trigger_that_keeps_a_record() -> None:
    class Numbers(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield key, [number for _, number in elements]

    far = DeltaTrigger.of(4, lambda before, now: now[1] - before[1])
    fuzz(
        lambda s: s.key_by(key).window(GlobalWindows.create()).trigger(far).process(Numbers()),
        RECORDS,
        split_by=key,
        max_examples=EXAMPLES,
    )


@pytest.mark.parametrize("distribution", ["broadcast", "keyed"])
def test_a_lookup_join_finds_the_rows_of_every_record(distribution: str) -> None:
    table = pandas.DataFrame({"name": ["a", "a", "b"], "since": [0, 2_000, 1_000], "price": [1, 2, 3]})

    def found(records: Any) -> list[Any]:
        results = []
        for (name, number), timestamp in records:
            rows = [(since, price) for other, since, price in table.itertuples(index=False) if other == name]
            older = [row for row in rows if row[0] <= timestamp]
            results.append((number, max(older)[1] if older else None))
        return results

    fuzz(
        lambda s: s.lookup_join(
            table, on="name", key=key, how="left", valid_from="since", distribution=distribution
        ).apply(lambda pair, row: (pair[1], None if row is None else row.price)),
        RECORDS,
        disorder=DISORDER,
        oracle=found,
        max_examples=EXAMPLES,
    )  # fmt: skip


def test_reduced_rows_keep_their_names() -> None:
    row = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    fuzz(
        lambda s: (
            s.key_by("k")
            .window(SlidingEventTimeWindows.of("2 s", "1 s"))
            .reduce(lambda a, b: Row(k=a.k, n=max(a.n, b.n)))
            .map(lambda each: (each.k, each.n))
        ),
        [(Row(k=name, n=number), timestamp) for (name, number), timestamp in RECORDS],
        disorder=DISORDER,
        timestamps=True,
        types=[row],
        max_examples=EXAMPLES,
    )
