"""A plan that every rule has something to do with, over several epochs: the answer is that of a loop in Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, ParquetFormat
from penstock.datastream.functions import combinable
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.expressions import col, count, lit, max_, window_end

EVENTS = 6_000


def event(n: int) -> dict[str, object]:
    # One auction has most of the bids.
    auction = 7 if n % 10 < 8 else n % 40
    return {"kind": n % 3, "auction": auction, "price": n * 7919 % 10_007, "url": f"https://{n}", "at": n * 10 + n % 7}


def expected() -> Counter[tuple[int, int, int, int]]:
    bids: Counter[tuple[int, int]] = Counter()
    highest: dict[tuple[int, int], int] = {}
    for each in map(event, range(EVENTS)):
        if each["kind"] == 2:
            at, price = int(str(each["at"])), int(str(each["price"]))
            for end in range(at - at % 5_000 + 5_000, at - at % 5_000 + 10_001, 5_000):
                place = (int(str(each["auction"])), end)
                bids[place] += 1
                highest[place] = max(highest.get(place, 0), price)
    return Counter((auction, end, n, highest[auction, end]) for (auction, end), n in bids.items())


def test_every_rule_and_the_same_answer(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    rows = [event(n) for n in range(EVENTS)]
    for part in range(3):
        table = pa.Table.from_pylist(rows[part * 2_000 : (part + 1) * 2_000])
        pyarrow.parquet.write_table(table, tmp_path / "events" / f"{part}.parquet", row_group_size=500)
    env.configuration.set_string("execution.epoch.max-records", "2000")
    env.configuration.set_string("execution.target-latency", "1 ms")
    stamps = WatermarkStrategy.for_bounded_out_of_orderness("20 s").with_timestamp_assigner("at")
    bids = (
        env.from_source(FileSource(str(tmp_path / "events"), ParquetFormat()))
        .select("auction", "price", "url", "at", type=col("kind"))
        .filter(col("type") == lit(1) + 1)
        .assign_timestamps_and_watermarks(stamps)
    )
    windows = (
        bids.key_by("auction")
        .window(SlidingEventTimeWindows.of("10 s", "5 s"))
        .aggregate(end=window_end(), n=count(), highest=max_("price"))
    )
    windows.print()
    plan = env.explain()
    for rule in ("fold constants", "push filters", "prune columns", "pre-aggregate"):
        assert f"\n  {rule}: " in plan
    results = Counter((row.auction, row.end, row.n, row.highest) for row in windows.execute_and_collect())
    assert results == expected()


@combinable
def mixed(one: Row, other: Row) -> Row:
    return Row(auction=one.auction, price=one.price ^ other.price, at=0)


def test_a_function_that_senders_call_and_the_same_answer(env: StreamExecutionEnvironment) -> None:
    bid = Types.ROW_NAMED(["auction", "price", "at"], [Types.LONG(), Types.LONG(), Types.LONG()])
    prices = [(n % 7, n * 7919 % 10_007, n * 10) for n in range(EVENTS)]
    expected: Counter[tuple[int, int]] = Counter()
    for auction, price, at in prices:
        expected[auction, at // 10_000] ^= price
    stamps = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
    windows = (
        env.from_collection([Row(*each) for each in prices], bid)
        .assign_timestamps_and_watermarks(stamps)
        .key_by("auction")
        .window(TumblingEventTimeWindows.of("10 s"))
        .reduce(mixed)
    )
    windows.print()
    assert "aggregated before" in env.explain()
    results = Counter((row.auction, row.price) for row in windows.execute_and_collect())
    assert results == Counter((auction, price) for (auction, _), price in expected.items())
