"""Windows of records whose time is the greatest of all, as batch execution gives it to what it reduces."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import RuntimeExecutionMode
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)
from penstock.testing import harness, local_environment

TYPE = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])
MAX = (1 << 63) - 1
# Seven divides the greatest time: a window begins there.
WINDOWS = {
    "tumbling": (TumblingEventTimeWindows.of(10), 1),
    "tumbling from the end": (TumblingEventTimeWindows.of(7), 1),
    "sliding": (SlidingEventTimeWindows.of(20, 5), 4),
    "cumulative": (CumulativeEventTimeWindows.of(40, 10), 1),
    "sessions": (EventTimeSessionWindows.with_gap(5), 1),
    "sessions of their records": (EventTimeSessionWindows.with_dynamic_gap(lambda row: 5), 1),
}


@pytest.mark.parametrize("disabled", ["", "reduce-in-columns"])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_what_a_batch_has_reduced(name: str, disabled: str) -> None:
    configuration = Configuration()
    configuration.set_string("optimizer.disabled-rules", disabled)
    env = local_environment(configuration, parallelism=2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("v")
    rows = env.from_collection([Row(k=k, v=v) for v, k in enumerate("abcabc")], TYPE)
    assigner, number = WINDOWS[name]
    sums = (
        rows.assign_timestamps_and_watermarks(times)
        .key_by("k")
        .sum("v")
        .key_by(lambda row: 1)
        .window(assigner)
        .sum("v")
    )
    assert [row.v for row in sums.execute_and_collect()] == [15] * number


@pytest.mark.parametrize("lateness", [0, 1])
@pytest.mark.parametrize("name", WINDOWS)
def test_of_a_stream(name: str, lateness: int) -> None:
    assigner, number = WINDOWS[name]
    test = harness(lambda s: s.key_by("k").window(assigner).allowed_lateness(lateness).sum("v"), TYPE)
    test.process_element(Row(k="a", v=1), MAX)
    test.restore(test.snapshot())
    test.process_element(Row(k="a", v=2), MAX)
    test.close()
    assert test.output() == [(Row(k="a", v=3), MAX - 1)] * number


@pytest.mark.parametrize(
    ("assigner", "starts"),
    [
        (TumblingEventTimeWindows.of(10), [MAX - 7]),
        (SlidingEventTimeWindows.of(10, 5), [MAX - 2, MAX - 7]),
        (CumulativeEventTimeWindows.of(20, 5), [MAX - 7]),
    ],
)
def test_no_window_goes_beyond_the_end_of_time(assigner: Any, starts: list[int]) -> None:
    assert assigner.windows_at(MAX, None) == [TimeWindow(start, MAX) for start in starts]
