"""Joins of every kind on both engines and in both modes, over several epochs, with a restart in the middle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from penstock.common import JobExecutionException, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.files import FileSink
from penstock.datastream import (
    CoGroupFunction,
    DataStream,
    JoinFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.functions import RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

Record = tuple[str, int, int]
"""Key, number, timestamp."""

LEFT: list[Record] = [("abc"[n % 3], n, (n * 37 % 23 - 11) + 13 * n + 50) for n in range(45)]
RIGHT: list[Record] = [("bcd"[n % 3], 100 + n, (n * 29 % 19 - 9) + 17 * n + 50) for n in range(35)]
RECORD = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
RESULT = Types.ROW_NAMED(["kind", "key", "left", "right"], [Types.STRING(), Types.STRING(), Types.INT(), Types.INT()])
TABLE = pd.DataFrame(
    {"letter": ["a", "b", "a"], "since": [0, 200, 300], "number": pd.array([1_001, 1_002, 1_003], dtype="int32")}
)
BOUNDS = (-20, 30)
"""Some pairs are exactly so far apart: it matters whether a bound belongs to the interval."""
NARROW = (-2, 5)
GROUPS: dict[str, Callable[[int], list[int]]] = {
    "groups": lambda time: [time // 40],
    "sliding groups": lambda time: [time // 25, time // 25 - 1],
}
Result = tuple[str, str, int | None, int | None]


class Time(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return value[2]


class Close(ProcessJoinFunction):
    """Pairs; cuts the power at one of them."""

    def __init__(self, switch: Path) -> None:
        self.switch = switch

    def open(self, runtime_context: RuntimeContext) -> None:
        self.pairs = runtime_context.get_state(ValueStateDescriptor("pairs", Types.INT()))

    def process_element(self, left: Record, right: Record, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        self.pairs.update((self.pairs.value() or 0) + 1)
        if self.pairs.value() == 6 and not self.switch.exists():
            raise RuntimeError("power cut")
        assert ctx.get_timestamp() == max(left[2], right[2])
        yield "interval", left[0], left[1], right[1]


class Closer(ProcessJoinFunction):
    def process_element(self, left: Record, right: Record, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        yield "between", left[0], left[1], right[1]


class CloseOrAlone(ProcessJoinFunction):
    def process_element(self, left: Record, right: Record, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        yield "close or alone", (left or right)[0], left and left[1], right and right[1]


class Sizes(CoGroupFunction):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def co_group(self, first: Iterable[Record], second: Iterable[Record]) -> Iterable[Any]:
        first, second = list(first), list(second)
        yield self.kind, (first or second)[0][0], len(first), len(second)


class Pair(JoinFunction):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def join(self, first: Record | None, second: Any) -> Any:
        number = second and (second[1] if isinstance(second, tuple) else second.number)
        return self.kind, (first or second)[0], first and first[1], number


def joins(left: DataStream, right: DataStream, switch: Path) -> DataStream:
    keyed, other = left.key_by(lambda record: record[0]), right.key_by(0)
    interval = keyed.interval_join(other).between(*BOUNDS).upper_bound_exclusive()
    between = keyed.interval_join(other).between(*BOUNDS).lower_bound_exclusive().upper_bound_exclusive()
    close_or_alone = keyed.interval_join(other, how="full").between(*NARROW)
    groups = [
        left.co_group(right).where(0).equal_to(0).window(assigner).apply(Sizes(kind), RESULT)
        for kind, assigner in {
            "session": EventTimeSessionWindows.with_gap("60 ms"),
            "groups": TumblingEventTimeWindows.of("40 ms"),
            "sliding groups": SlidingEventTimeWindows.of("50 ms", "25 ms"),
        }.items()
    ]
    full = left.join(right, how="full").where(0).equal_to(lambda record: record[0])
    sliding = left.join(right).where(0).equal_to(0).window(SlidingEventTimeWindows.of("50 ms", "25 ms"))
    lookups = [
        left.lookup_join(TABLE, on="letter", key=0, how="left", valid_from="since", distribution=distribution).apply(
            Pair(distribution), RESULT
        )
        for distribution in ("broadcast", "keyed")
    ]
    return interval.process(Close(switch), RESULT).union(
        between.process(Closer(), RESULT),
        close_or_alone.process(CloseOrAlone(), RESULT),
        *groups,
        full.window(TumblingEventTimeWindows.of("100 ms")).apply(Pair("full"), RESULT),
        sliding.apply(Pair("sliding"), RESULT),
        keyed.temporal_join(other, how="left").apply(Pair("version"), RESULT),
        *lookups,
    )


def expected() -> list[Result]:
    found: list[Result] = []
    for key in "abcd":
        left = [record for record in LEFT if record[0] == key]
        right = [record for record in RIGHT if record[0] == key]
        pairs = [(one, two) for one in left for two in right]
        found += [("interval", key, one[1], two[1]) for one, two in pairs if BOUNDS[0] <= two[2] - one[2] < BOUNDS[1]]
        found += [("between", key, a[1], b[1]) for a, b in pairs if BOUNDS[0] < b[2] - a[2] < BOUNDS[1]]
        narrow = [(one, two) for one, two in pairs if NARROW[0] <= two[2] - one[2] <= NARROW[1]]
        singles = [(one, None) for one in left if all(one is not each for each, _ in narrow)]
        singles += [(None, two) for two in right if all(two is not each for _, each in narrow)]
        found += [("close or alone", key, one and one[1], two and two[1]) for one, two in (*narrow, *singles)]
        for kind, windows_of in GROUPS.items():
            sizes = [Counter(start for record in side for start in windows_of(record[2])) for side in (left, right)]
            found += [(kind, key, sizes[0][start], sizes[1][start]) for start in sizes[0].keys() | sizes[1].keys()]
        for one, two in pairs:
            both = len({one[2] // 25, one[2] // 25 - 1} & {two[2] // 25, two[2] // 25 - 1})
            found += [("sliding", key, one[1], two[1])] * both
        for window in {record[2] // 100 for record in (*left, *right)}:
            ones = [record[1] for record in left if record[2] // 100 == window]
            twos = [record[1] for record in right if record[2] // 100 == window]
            found += [("full", key, one, two) for one in ones or [None] for two in twos or [None]]
        for one in left:
            versions = [two for two in right if two[2] <= one[2]]
            found.append(("version", key, one[1], max(versions, key=lambda two: two[2])[1] if versions else None))
            rows = [row for row in TABLE.itertuples() if row.letter == key and row.since <= one[2]]
            number = int(max(rows, key=lambda row: row.since).number) if rows else None
            found += [(distribution, key, one[1], number) for distribution in ("broadcast", "keyed")]
        times = sorted([(record[2], 0) for record in left] + [(record[2], 1) for record in right])
        session: list[int] = [0, 0]
        for place, (time, side) in enumerate(times):
            session[side] += 1
            if place + 1 == len(times) or times[place + 1][0] > time + 60:
                found.append(("session", key, session[0], session[1]))
                session = [0, 0]
    return found


def by_text(results: Iterable[Any]) -> list[Any]:
    return sorted(results, key=repr)


def test_joins_over_many_epochs_with_a_restart_in_the_middle(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    env.configuration.set_string("execution.epoch.max-records", "60")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner(Time())
    switch = tmp_path / "power is back"
    for attempt in range(2):
        left, right = (
            env.from_collection(records, RECORD).assign_timestamps_and_watermarks(strategy) for records in (LEFT, RIGHT)
        )
        joins(left, right, switch).sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            switch.touch()
        else:
            env.execute()
    lines = [line for path in sorted((tmp_path / "out").glob("*.json")) for line in path.read_text().splitlines()]
    assert by_text(tuple(json.loads(line).values()) for line in lines) == by_text(expected())
