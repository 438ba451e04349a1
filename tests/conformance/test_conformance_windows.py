"""Windows on both engines and in both modes, over several epochs, with a restart in the middle."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import JobExecutionException, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.files import FileSink
from penstock.datastream import AggregateFunction, DataStream, ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.functions import ProcessAllWindowFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)
from penstock.expressions import col, row, sum_, window_end, window_start

Record = tuple[str, int, int]
"""Key, amount, timestamp."""

RECORDS: list[Record] = [
    ("ab"[number % 2], number, (number * 37 % 23 - 11) + 13 * number + (300 if number > 30 else 0))
    for number in range(60)
]
RECORD_TYPE = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
RESULT = Types.ROW_NAMED(
    ["kind", "key", "start", "end", "total"], [Types.STRING(), Types.STRING(), *[Types.LONG()] * 3]
)
Result = tuple[str, str, int, int, int]


class Time(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return value[2]


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Record, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Describe(ProcessWindowFunction):
    """Says which window it is and what is in it; cuts the power in one window of its own."""

    def __init__(self, kind: str, switch: Path | None = None) -> None:
        self.kind = kind
        self.switch = switch

    def open(self, runtime_context: RuntimeContext) -> None:
        self.firings = ValueStateDescriptor("firings", Types.INT())

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        times = context.global_state().get_state(self.firings)
        times.update((times.value() or 0) + 1)
        if self.switch is not None and times.value() == 4 and not self.switch.exists():
            raise RuntimeError("power cut")
        start, end = (window.start, window.end) if isinstance(window, TimeWindow) else (0, 0)
        total = sum(each if isinstance(each, int) else each[1] for each in elements)
        yield self.kind, key, start, end, total


class DescribeAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        yield "all", "", window.start, window.end, sum(each[4] for each in elements)


def windows(stream: DataStream, switch: Path) -> DataStream:
    """Every kind of contents, and windows of the results of windows."""
    keyed = stream.key_by(lambda record: record[0])
    tumbling = keyed.window(TumblingEventTimeWindows.of("100 ms")).reduce(
        lambda a, b: (a[0], a[1] + b[1], b[2]), Describe("tumbling", switch), RESULT
    )
    sliding = keyed.window(SlidingEventTimeWindows.of("200 ms", "100 ms")).process(Describe("sliding"), RESULT)
    sessions = keyed.window(EventTimeSessionWindows.with_gap("100 ms")).aggregate(
        Total(), Describe("session"), output_type=RESULT
    )
    newest = (
        keyed.window(GlobalWindows.create_with_end_of_stream_trigger())
        .evictor(CountEvictor.of(1))
        .process(Describe("newest"), RESULT)
    )
    everything = tumbling.window_all(TumblingEventTimeWindows.of("500 ms")).process(DescribeAll(), RESULT)
    aggregates = {"start": window_start(), "end": window_end(), "total": sum_("f1")}
    by_name = stream.key_by(0).window(SlidingEventTimeWindows.of("200 ms", "100 ms")).aggregate(**aggregates)
    all_by_name = stream.window_all(TumblingEventTimeWindows.of("500 ms")).aggregate(**aggregates)
    return tumbling.union(
        sliding,
        sessions,
        newest,
        everything,
        by_name.map(row(kind="by name", key=col("f0"), **{name: col(name) for name in aggregates}), RESULT),
        all_by_name.map(row(kind="all by name", key="", **{name: col(name) for name in aggregates}), RESULT),
    )


def expected() -> set[Result]:
    totals: dict[tuple[str, str, int, int], int] = defaultdict(int)
    for key, amount, time in RECORDS:
        start = time - time % 100
        totals["tumbling", key, start, start + 100] += amount
        totals["sliding", key, start, start + 200] += amount
        totals["sliding", key, start - 100, start + 100] += amount
        totals["all", "", time - time % 500, time - time % 500 + 500] += amount
        totals["by name", key, start, start + 200] += amount
        totals["by name", key, start - 100, start + 100] += amount
        totals["all by name", "", time - time % 500, time - time % 500 + 500] += amount
        totals["newest", key, 0, 0] = amount
    for key in "ab":
        session: tuple[int, int, int] | None = None
        for time, amount in sorted((record[2], record[1]) for record in RECORDS if record[0] == key):
            if session is not None and time <= session[1]:
                session = session[0], time + 100, session[2] + amount
            else:
                if session is not None:
                    totals["session", key, session[0], session[1]] = session[2]
                session = time, time + 100, amount
        assert session is not None
        totals["session", key, session[0], session[1]] = session[2]
    return {(*place, total) for place, total in totals.items()}


def test_windows_over_many_epochs_with_a_restart_in_the_middle(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    env.configuration.set_string("execution.epoch.max-records", "20")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner("f2")
    switch = tmp_path / "power is back"
    for attempt in range(2):
        stream = env.from_collection(RECORDS, RECORD_TYPE).assign_timestamps_and_watermarks(strategy)
        windows(stream, switch).sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            switch.touch()
        else:
            env.execute()
    lines = [line for path in sorted((tmp_path / "out").glob("*.json")) for line in path.read_text().splitlines()]
    rows = [tuple(json.loads(line).values()) for line in lines]
    assert sorted(rows) == sorted(expected())
