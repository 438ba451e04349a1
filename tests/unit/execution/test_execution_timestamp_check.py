"""What is wrong with time in a program: told when the program is built, or at the latest when it is started."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas
import pytest

from penstock.cep import CEP, Pattern
from penstock.common import Types, WatermarkGenerator, WatermarkStrategy
from penstock.common.errors import JobExecutionException, PlanError
from penstock.connectors.sequence import NumberSequenceSource
from penstock.datastream import AsyncDataStream, AsyncFunction, DataStream, StreamExecutionEnvironment
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.testing import local_environment

TEN = TumblingEventTimeWindows.of(10)
BY_VALUE = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
Program = Callable[[DataStream], DataStream]


def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("a", 2)], PAIR)


def stamped(env: StreamExecutionEnvironment) -> DataStream:
    return pairs(env).assign_timestamps_and_watermarks(BY_VALUE)


class Same(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


def lookup(stream: DataStream, distribution: str, valid_from: str | None = "since") -> DataStream:
    table = pandas.DataFrame({"k": ["a"], "since": [0]})
    join = stream.lookup_join(table, on="k", key=0, valid_from=valid_from, distribution=distribution)
    return join.apply(lambda record, row: record)


@pytest.mark.parametrize(
    ("build", "operator"),
    [
        (lambda s: s.key_by(0).window(TEN).sum(1), "Window 'TumblingEventTimeWindows'"),
        (
            lambda s: s.map(lambda v: v, PAIR).key_by(0).window(EventTimeSessionWindows.with_gap(5)).sum(1),
            "Window 'EventTimeSessionWindows'",
        ),
        (lambda s: s.window_all(SlidingEventTimeWindows.of(10, 5)).sum(1), "Window 'SlidingEventTimeWindows'"),
        (
            lambda s: s.union(stamped(s.get_execution_environment())).key_by(0).window(TEN).sum(1),
            "Window 'TumblingEventTimeWindows'",
        ),
        (
            lambda s: (
                s.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
                .key_by(0)
                .window(TEN)
                .sum(1)
            ),
            "Window 'TumblingEventTimeWindows'",
        ),
        (
            lambda s: s.key_by(0).interval_join(stamped(s.get_execution_environment()).key_by(0)).between(0, 5).process(
                lambda left, right, ctx: [left]
            ),
            "IntervalJoin",
        ),
        (
            lambda s: (
                stamped(s.get_execution_environment()).join(s).where(0).equal_to(0).window(TEN).apply(lambda a, b: a)
            ),
            "CoGroup",
        ),
        (
            lambda s: stamped(s.get_execution_environment()).key_by(0).temporal_join(s.key_by(0)).apply(
                lambda a, b: a
            ),
            "TemporalJoin",
        ),
        (lambda s: lookup(s, "broadcast"), "Process 'Lookup Join'"),
        (lambda s: lookup(s, "keyed"), "LookupJoin"),
        (
            lambda s: CEP.pattern(s.key_by(0), Pattern.begin("any")).select(lambda match: match["any"][0]),
            "Cep",
        ),
        (
            lambda s: s.map_batches(lambda batch: batch, output_type=PAIR).key_by(0).window(TEN).sum(1),
            "Window 'TumblingEventTimeWindows'",
        ),
        (
            lambda s: AsyncDataStream.ordered_wait(s, Same(), 1_000, output_type=PAIR).key_by(0).window(TEN).sum(1),
            "Window 'TumblingEventTimeWindows'",
        ),
    ],
)  # fmt: skip
def test_event_time_without_timestamps_is_refused_before_the_start(build: Program, operator: str) -> None:
    env = local_environment()
    build(pairs(env)).print()
    with pytest.raises(PlanError, match=f"{operator}.* follows event time.*without timestamps") as caught:
        env.execute()
    assert re.search(rf"defined at .*{re.escape(__file__.rsplit('/', 1)[-1])}", str(caught.value))


@pytest.mark.parametrize(
    "build",
    [
        lambda env: stamped(env).key_by(0).window(TEN).sum(1),
        lambda env: pairs(env).key_by(0).window(TumblingProcessingTimeWindows.of(10)).sum(1),
        lambda env: env.from_collection([], PAIR).key_by(0).window(TEN).sum(1),
        lambda env: lookup(pairs(env), "broadcast", valid_from=None),
        lambda env: lookup(pairs(env), "keyed", valid_from=None),
        lambda env: lookup(stamped(env), "keyed"),
        lambda env: (
            pairs(env).key_by(0).count_window(2).sum(1).assign_timestamps_and_watermarks(BY_VALUE).key_by(0)
            .window(TEN).sum(1)
        ),
        lambda env: (
            env.from_source(
                NumberSequenceSource(1, 3),
                WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n),
                "numbers",
            ).window_all(TEN).sum()
        ),
    ],
)  # fmt: skip
def test_event_time_with_timestamps_runs(build: Callable[[StreamExecutionEnvironment], DataStream]) -> None:
    env = local_environment()
    list(build(env).execute_and_collect())


def test_a_record_without_a_timestamp_that_nobody_could_foresee() -> None:
    class FromTen(WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None: ...

        def on_periodic_emit(self, output: Any) -> None: ...

    env = local_environment()
    nowhere: Any = float("nan")
    strategy = WatermarkStrategy.for_generator(FromTen).with_timestamp_assigner(lambda value, _: nowhere)
    pairs(env).assign_timestamps_and_watermarks(strategy).key_by(0).window(TEN).sum(1).print()
    with pytest.raises(JobExecutionException, match="nan"):
        env.execute()


def test_a_watermark_that_goes_back_is_ignored() -> None:
    class Restless(WatermarkGenerator):
        """Says 100 behind the first record, and 5 behind all others."""

        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            output.emit_watermark(100 if event[1] == 1 else 5)

        def on_periodic_emit(self, output: Any) -> None: ...

    env = local_environment()
    strategy = WatermarkStrategy.for_generator(Restless).with_timestamp_assigner(lambda value, _: value[1])
    in_time = env.from_collection([("a", 1), ("a", 2), ("a", 105)], PAIR).assign_timestamps_and_watermarks(strategy)
    windows = in_time.key_by(0).window(TEN).sum(1)
    assert sorted(windows.execute_and_collect()) == [("a", 1), ("a", 105)], "the second record is late"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.window(TEN), "the stream has no keys"),
        (lambda s: s.key_by(0).window(EventTimeSessionWindows.with_gap(-5)), "-5"),
        (lambda s: s.key_by(0).window(SlidingEventTimeWindows.of(10, 0)), "`slide` is 0"),
    ],
)
def test_what_is_known_when_it_is_written(build: Program, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        build(pairs(local_environment()))
    assert f"at {__file__}" in str(caught.value)
