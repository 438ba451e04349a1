"""Aggregates by name in windows of the clock, in columns or one record after the other: the same results."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import DataStream
from penstock.datastream.window import SlidingProcessingTimeWindows, TumblingProcessingTimeWindows
from penstock.expressions import avg, count, max_, sum_, window_end, window_start
from penstock.plan.window_node import WindowNode
from penstock.testing import local_environment

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def totals(assigner: Any, in_columns: bool) -> Any:
    """Without a declared type of the key windows are computed record by record."""
    key: Any = "f0" if in_columns else (lambda pair: pair[0])

    def build(stream: DataStream) -> DataStream:
        keyed = stream.map(lambda pair: pair, output_type=PAIR).key_by(key)
        windows = keyed.window(assigner).aggregate(
            start=window_start(), end=window_end(), n=count(), total=sum_("f1"), most=max_("f1"), mean=avg("f1")
        )
        return windows.map(lambda row: (*row,))

    return build


def is_columnar(build: Any) -> bool:
    env = local_environment()
    build(env.from_collection([("a", 1)], PAIR)).print()
    (node,) = [node for node in env.get_plan().nodes if isinstance(node, WindowNode)]
    return node.window.is_columnar


@pytest.mark.parametrize("in_columns", [True, False])
def test_a_window_fires_when_the_clock_shows_its_end(scenario: Any, in_columns: bool) -> None:
    build = totals(TumblingProcessingTimeWindows.of("3 s"), in_columns)
    assert is_columnar(build) == in_columns
    run = scenario(build)
    run.clock(3)
    run.add((("b", 1), 99_000), (("a", 5), None), (("a", 2), 0))
    assert run.watermark(1_000_000) == []
    assert run.clock(2_999) == []
    assert run.clock(3_000) == [
        (("a", 0, 3_000, 2, 7, 5, 3.5), 2_999),
        (("b", 0, 3_000, 1, 1, 1, 1.0), 2_999),
    ]
    run.clock(5_000)
    run.add((("a", None), 1))
    assert run.clock(9_000) == [(("a", 3_000, 6_000, 1, None, None, None), 5_999)]
    assert run.dropped == 0
    assert run.stored() == 0


@pytest.mark.parametrize("in_columns", [True, False])
def test_windows_that_are_not_over_when_a_stream_ends_are_lost(scenario: Any, in_columns: bool) -> None:
    run = scenario(totals(TumblingProcessingTimeWindows.of("3 s"), in_columns))
    run.add((("a", 1), None))
    assert run.end() == []


@pytest.mark.parametrize("in_columns", [True, False])
def test_a_batch_ends_all_windows(in_columns: bool) -> None:
    env = local_environment(parallelism=2)
    env.configuration.set_string("execution.runtime-mode", "BATCH")
    records = [("ab"[n % 2], n) for n in range(1_000)]
    stream = totals(TumblingProcessingTimeWindows.of("3 s"), in_columns)(env.from_collection(records, PAIR))
    assert sorted(stream.execute_and_collect()) == [
        ("a", 0, 3_000, 500, 249_500, 998, 499.0),
        ("b", 0, 3_000, 500, 250_000, 999, 500.0),
    ]


def test_windows_that_slide_are_computed_record_by_record() -> None:
    assert not is_columnar(totals(SlidingProcessingTimeWindows.of("3 s", "1 s"), in_columns=True))
