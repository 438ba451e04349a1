"""What a running job says of its event time when nothing comes any more."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.one_job import LOCAL, SPARK
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.execution.job_client import JobClient
from penstock.testing import ScriptedSource, pause, record


def until(condition: Callable[[], bool], job: JobClient) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert not job.has_ended(0.02), job.wait()
        assert time.monotonic() < deadline


@pytest.mark.parametrize("engine_and_mode", [LOCAL[0], SPARK[0]])
def test_event_time_stays_where_it_was_when_all_splits_fall_idle(env: StreamExecutionEnvironment) -> None:
    splits = [[record(("a", end), end), pause("1 h")] for end in (900, 1_700)]
    source = ScriptedSource(*splits, type_info=Types.TUPLE([Types.STRING(), Types.LONG()]))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness("50 ms")
    orders = env.from_source(source, strategy, "orders").uid("orders")
    sums = orders.key_by(lambda order: order[0]).window(TumblingEventTimeWindows.of(10_000)).sum(1)
    sums.name("sums").uid("sums").add_sink(lambda order: None)
    job = env.execute_async()

    def all_are_idle() -> bool:
        of_orders: dict[str, Any] = job.metrics()["splits"].get("orders", {})
        return len(of_orders) == 2 and all(split["idle"] for split in of_orders.values())

    try:
        until(all_are_idle, job)
        watermarks = job.metrics()["watermarks"]
        (why,) = job.why_not_fired("sums")
    finally:
        job.cancel().result()
    assert (watermarks["orders"], watermarks["sums"]) == (1_699, 1_699)
    assert why.is_idle
    assert str(why) == (
        "'sums' (uid sums) has the watermark 1699. All splits of 'orders' are idle: "
        "event time goes on when one of them has records again"
    )
