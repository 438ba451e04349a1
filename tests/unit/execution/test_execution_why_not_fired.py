"""Who holds a watermark back, said with numbers and in words."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.errors import ConfigurationError
from penstock.connectors.sequence import NumberSequenceSource
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction
from penstock.engine.epochs.event_time import EventTime
from penstock.execution.why_not_fired import explain_watermarks
from penstock.optimizer.pipeline import optimize
from penstock.plan.plan import Plan
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime.timestamps_and_watermarks import TimeProgress

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
IDLE = MONOTONOUS.with_idleness("5 s")


class Nothing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        return


def environment() -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def source(env: StreamExecutionEnvironment, name: str, strategy: WatermarkStrategy | None) -> DataStream:
    return env.from_source(NumberSequenceSource(1, 9), strategy, name).uid(name)


def sums(stream: DataStream) -> DataStream:
    return stream.key_by(lambda n: n).process(Nothing()).name("sums").uid("sums-uid")


def plan_of(env: StreamExecutionEnvironment, stream: DataStream) -> Plan:
    stream.print()
    return optimize(env.get_plan())


def at(watermark: int, *, quiet_since: int = 0, idle: bool = False) -> TimeProgress:
    return TimeProgress(watermark, idle, quiet_since)


def test_the_slowest_split_is_named_with_how_far_it_is_behind() -> None:
    env = environment()
    plan = plan_of(env, sums(source(env, "orders", IDLE)))
    splits = {"p0": at(9_000), "p1": at(2_000, quiet_since=7_000), "p2": at(1_000, idle=True)}
    time = EventTime(subtasks={"sums-uid": {0: 2_000, 1: 2_000}}, splits={"orders": splits}, now=8_000)
    (why,) = explain_watermarks(plan, time, None)
    (holder,) = why.holders
    assert (why.uid, why.watermark) == ("sums-uid", 2_000)
    assert (holder.uid, holder.part, holder.watermark, holder.behind_ms) == ("orders", "p1", 2_000, 7_000)
    assert (holder.released_by_idleness, holder.idle_timeout_ms, holder.idle_in_ms) == (True, 5_000, 4_000)
    assert str(why) == (
        "'sums' (uid sums-uid) has the watermark 2000. It waits for:\n"
        "  - split p1 of 'orders': it is at 2000, 7000 ms behind the furthest; its last record came 1000 ms ago; "
        "it is left out after 5000 ms of silence, in 4000 ms"
    )


def test_splits_that_have_said_nothing_are_named_and_what_would_help() -> None:
    env = environment()
    plan = plan_of(env, sums(source(env, "orders", MONOTONOUS)))
    splits = {"p0": at(9_000), "p1": at(MIN_WATERMARK), "p2": at(MIN_WATERMARK)}
    (why,) = explain_watermarks(plan, EventTime(splits={"orders": splits}, now=100), "sums")
    assert [holder.part for holder in why.holders] == ["p1", "p2"]
    assert [holder.released_by_idleness for holder in why.holders] == [False, False]
    assert "has no watermark yet" in str(why)
    assert "it has sent no watermark yet; its last record came 100 ms ago; with_idleness(...) would let" in str(why)


def test_a_source_without_a_strategy_is_named() -> None:
    env = environment()
    both = source(env, "orders", MONOTONOUS).union(source(env, "rates", None))
    (why,) = explain_watermarks(plan_of(env, sums(both)), EventTime(splits={"orders": {"p0": at(5)}}), "sums-uid")
    assert [(holder.uid, holder.part) for holder in why.holders] == [("rates", "")]
    assert "makes no watermarks before it ends: give it a WatermarkStrategy" in str(why)


def test_a_source_that_has_ended_holds_nothing() -> None:
    env = environment()
    both = source(env, "orders", MONOTONOUS).union(source(env, "rates", None))
    time = EventTime(splits={"orders": {"p0": at(5)}}, ended_sources=frozenset({"rates"}))
    (why,) = explain_watermarks(plan_of(env, sums(both)), time, "sums")
    assert [holder.uid for holder in why.holders] == ["orders"]


def test_behind_an_operator_that_makes_watermarks_its_subtasks_are_named() -> None:
    env = environment()
    stamped = source(env, "orders", None).assign_timestamps_and_watermarks(MONOTONOUS).uid("stamps")
    plan = plan_of(env, sums(stamped.map(lambda n: n)))
    (why,) = explain_watermarks(plan, EventTime(subtasks={"stamps": {0: 70, 1: 30}}), None)
    assert [(holder.part, holder.watermark, holder.behind_ms) for holder in why.holders] == [("1", 30, 40)]
    idle = EventTime(subtasks={"stamps": {0: 70, 1: 30}}, idle=frozenset({("stamps", 1)}))
    (why,) = explain_watermarks(plan, idle, None)
    assert [holder.part for holder in why.holders] == ["0"]


def test_where_all_splits_are_idle_that_is_said() -> None:
    env = environment()
    both = source(env, "orders", IDLE).union(source(env, "rates", IDLE))
    splits = {"orders": {"p0": at(1_699, idle=True), "p1": at(900, idle=True)}, "rates": {"r": at(800, idle=True)}}
    time = EventTime(subtasks={"sums-uid": {0: 1_699, 1: 1_699}}, splits=splits)
    (why,) = explain_watermarks(plan_of(env, sums(both)), time, None)
    assert (why.holders, why.is_idle) == ((), True)
    assert str(why) == (
        "'sums' (uid sums-uid) has the watermark 1699. All splits of 'rates', 'orders' are idle: "
        "event time goes on when one of them has records again"
    )
    assert (time.of_operator("orders"), time.of_operator("rates")) == (1_699, 800), "event time does not go back"


def test_where_all_subtasks_are_idle_that_is_said() -> None:
    env = environment()
    stamped = source(env, "orders", None).assign_timestamps_and_watermarks(IDLE).name("stamps").uid("stamps")
    time = EventTime(subtasks={"stamps": {0: 70, 1: 30}}, idle=frozenset({("stamps", 0), ("stamps", 1)}))
    (why,) = explain_watermarks(plan_of(env, sums(stamped)), time, "sums")
    assert "All subtasks of 'stamps' are idle" in str(why)


def test_a_source_that_has_had_no_splits_for_long_holds_nothing() -> None:
    env = environment()
    plan = plan_of(env, sums(source(env, "orders", IDLE).union(source(env, "files", IDLE))))
    time = EventTime(splits={"orders": {"p0": at(5)}, "files": {}}, silent_sources=frozenset({"files"}))
    (why,) = explain_watermarks(plan, time, None)
    assert [holder.uid for holder in why.holders] == ["orders"]


@pytest.mark.parametrize("strategy", [MONOTONOUS, IDLE])
@pytest.mark.parametrize("others", [{}, {"p1": at(1_699)}, {"p2": at(1_000, idle=True)}])
def test_idleness_helps_only_where_somebody_is_ahead(
    strategy: WatermarkStrategy, others: dict[str, TimeProgress]
) -> None:
    env = environment()
    plan = plan_of(env, sums(source(env, "orders", strategy)))
    time = EventTime({"sums-uid": {0: 1_699}}, splits={"orders": {"p0": at(1_699), **others}}, now=60_000)
    (why,) = explain_watermarks(plan, time, None)
    assert not any(holder.released_by_idleness for holder in why.holders)
    assert "its last record came 60000 ms ago; event time goes on with its next records" in str(why)
    assert "idleness" not in str(why)


def test_an_idle_split_that_is_ahead_takes_over_when_the_last_falls_silent() -> None:
    env = environment()
    plan = plan_of(env, sums(source(env, "orders", IDLE)))
    splits = {"p0": at(1_699), "p1": at(9_000, idle=True)}
    (why,) = explain_watermarks(plan, EventTime({"sums-uid": {0: 1_699}}, splits={"orders": splits}), None)
    assert [holder.released_by_idleness for holder in why.holders] == [True]
    (why,) = explain_watermarks(plan, EventTime({"sums-uid": {0: 9_000}}, splits={"orders": splits}), None)
    assert [holder.released_by_idleness for holder in why.holders] == [False], "event time is there already"


def test_a_split_that_speaks_is_slow_and_not_silent() -> None:
    env = environment()
    plan = plan_of(env, sums(source(env, "orders", MONOTONOUS)))
    splits = {"p0": at(9_000), "p1": at(2_000, quiet_since=7_999)}
    (why,) = explain_watermarks(plan, EventTime(splits={"orders": splits}, now=8_000), None)
    assert str(why).endswith(
        "is at 2000, 7000 ms behind the furthest; its last record came 1 ms ago: it is slow and not silent, "
        "so idleness would not help"
    )


def test_an_unknown_operator_is_refused_with_those_there_are() -> None:
    env = environment()
    with pytest.raises(ConfigurationError, match="no operator has the uid or name 'sum'; there are: 'orders'"):
        explain_watermarks(plan_of(env, sums(source(env, "orders", None))), EventTime(), "sum")


def test_a_job_tells_of_its_event_time() -> None:
    env = environment()
    stream = env.from_source(NumberSequenceSource(1, 9), MONOTONOUS.with_timestamp_assigner(lambda n, _: n), "orders")
    sums(stream.uid("orders")).print()
    job = env.execute_async()
    job.wait(60)
    assert job.metrics()["watermarks"]["sums-uid"] == MAX_WATERMARK
    (why,) = job.why_not_fired("sums")
    assert why.holders == ()
    assert str(why) == "'sums' (uid sums-uid): all of its input has ended, and everything has fired"
