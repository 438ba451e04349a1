"""How windows are asked for: checks at the user's line, types, names and plans."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import ArgumentError, PlanError
from penstock.common.typeinfo import Types
from penstock.datastream import (
    AggregateFunction,
    AllWindowedStream,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    WindowedStream,
    WindowFunction,
)
from penstock.datastream import window as w

TEN = w.TumblingEventTimeWindows.of("10 s")
SESSIONS = w.EventTimeSessionWindows.with_gap("10 s")


class Opens(ReduceFunction):
    def open(self, runtime_context: Any) -> None:
        return

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class OpensToo(AggregateFunction):
    def close(self) -> None:
        return

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a


class Typed(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> list[str]:
        return ["x"]


class Process(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return ()


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Any:
        return ()


@pytest.fixture
def stream() -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    return env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda s: s.window(TEN), PlanError, r"window: the stream has no keys.*key_by.*window_all"),
        (lambda s: s.count_window(5), PlanError, "count_window: the stream has no keys"),
        (lambda s: s.key_by(0).window("10 s"), ArgumentError, "a WindowAssigner"),
        (lambda s: s.key_by(0).window(w.TumblingEventTimeWindows), ArgumentError, "an instance"),
        (lambda s: s.window_all(5), ArgumentError, "a WindowAssigner"),
        (lambda s: s.key_by(0).window(TEN).trigger(w.CountTrigger), ArgumentError, "an instance"),
        (lambda s: s.key_by(0).window(TEN).evictor(5), ArgumentError, "an Evictor"),
        (lambda s: s.key_by(0).window(TEN).allowed_lateness(-1), PlanError, "not negative"),
        (lambda s: s.key_by(0).window(TEN).side_output_late_data("late"), ArgumentError, "an OutputTag"),
        (
            lambda s: s.key_by(0).window(SESSIONS).trigger(w.DeltaTrigger.of(1, lambda a, b: 0)),
            PlanError,
            "does not support windows that merge",
        ),
        (lambda s: s.window_all(SESSIONS).trigger(w.NeverTrigger()), PlanError, "does not support windows that merge"),
        (lambda s: s.key_by(0).window(TEN).reduce(Opens()), ArgumentError, "without `open` and `close`"),
        (
            lambda s: s.key_by(0).window(TEN).evictor(w.CountEvictor.of(1)).reduce(Opens()),
            ArgumentError,
            "without `open` and `close`",
        ),
        (lambda s: s.key_by(0).window(TEN).aggregate(OpensToo()), ArgumentError, "without `open` and `close`"),
        (lambda s: s.key_by(0).window(TEN).reduce(5), ArgumentError, "a ReduceFunction"),
        (lambda s: s.key_by(0).window(TEN).aggregate(max), ArgumentError, "an AggregateFunction"),
        (lambda s: s.key_by(0).window(TEN).apply(Process()), ArgumentError, "a WindowFunction"),
        (lambda s: s.key_by(0).window(TEN).process(ProcessAll()), ArgumentError, "a ProcessWindowFunction"),
        (lambda s: s.window_all(TEN).process(Process()), ArgumentError, "a ProcessAllWindowFunction"),
        (lambda s: s.key_by(0).window(TEN).reduce(max, ProcessAll()), ArgumentError, "or a ProcessWindowFunction"),
        (lambda s: s.key_by(0).count_window(2, -1), PlanError, "`window_slide` is -1"),
        (lambda s: s.window_all(TEN).sum(1).set_parallelism(2), PlanError, "runs as one subtask"),
    ],
)
def test_mistakes_are_refused_at_the_users_line(stream: DataStream, ask: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        ask(stream)
    assert f"at {__file__}" in str(caught.value)


def test_streams_of_windows_are_of_the_classes_that_pyflink_has(stream: DataStream) -> None:
    keyed = stream.key_by(0)
    assert type(keyed.window(TEN)) is type(keyed.count_window(2)) is WindowedStream
    assert type(stream.window_all(TEN)) is type(keyed.count_window_all(2)) is AllWindowedStream
    assert keyed.window(TEN).get_input_type() == stream.get_type()
    assert keyed.window(TEN).get_execution_environment() is stream.get_execution_environment()


def test_the_type_of_results(stream: DataStream) -> None:
    windows = stream.key_by(0).window(TEN)
    assert windows.reduce(lambda a, b: a).get_type() == stream.get_type()
    assert windows.reduce(lambda a, b: a, Typed()).get_type() == Types.STRING()
    assert windows.apply(Typed(), Types.INT()).get_type() == Types.INT()
    assert windows.process(Process()).get_type() == Types.PICKLED_BYTE_ARRAY()


def test_side_outputs_are_read_where_there_are_some(stream: DataStream) -> None:
    tag = OutputTag("t")
    windows = stream.key_by(0).window(TEN)
    windows.process(Process()).get_side_output(tag)
    with pytest.raises(PlanError, match="no side outputs"):
        windows.reduce(lambda a, b: a).get_side_output(tag)


def test_the_plan_says_what_windows_there_are(stream: DataStream) -> None:
    keyed = stream.key_by(0).window(w.SlidingEventTimeWindows.of("10 s", "5 s")).evictor(w.CountEvictor.of(9))
    keyed.reduce(max, Process()).window_all(w.GlobalWindows.create()).process(ProcessAll()).print()
    text = stream.get_execution_environment().explain()
    assert "Window 'SlidingEventTimeWindows' | keyed" in text
    sliding = "Window(SlidingEventTimeWindows(10000, 5000, 0), EventTimeTrigger, CountEvictor, max, Process)"
    assert sliding in text
    assert "parallelism 1 of 128" in next(line for line in text.splitlines() if "Window 'GlobalWindows'" in line)
    assert "Window(GlobalWindows(trigger=NeverTrigger), NeverTrigger, ProcessAll)" in text
