"""The harness that programs are tested with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.errors import ArgumentError, UserFunctionError
from penstock.common.typeinfo import Types
from penstock.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
)
from penstock.datastream.functions import CheckpointedFunction
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import Harness, harness

ODD = OutputTag("odd")
MIN, MAX = -(1 << 63), (1 << 63) - 1


class Reminder(KeyedProcessFunction):
    """Counts the records of a key, and says the count 10 ms after each, by both times."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value(), ctx.time_domain().name


def test_records_watermarks_and_the_clock_reach_a_keyed_function() -> None:
    test = harness(lambda s: s.key_by(lambda v: v).process(Reminder()))
    assert test.watermark == MIN
    test.process_element("a", 5)
    test.process_watermark(14)
    assert test.output() == []
    test.process_watermark(15)
    assert test.output() == [(("a", 1, "EVENT_TIME"), 15)]
    assert test.watermark == 15
    test.set_processing_time(10)
    assert test.output() == [(("a", 1, "PROCESSING_TIME"), None)]
    assert test.output() == []


def test_a_snapshot_can_be_restored_again_and_again() -> None:
    test = harness(lambda s: s.key_by(lambda v: v).process(Reminder()))
    test.process_element("a", 5)
    snapshot = test.snapshot()
    for _ in range(2):
        test.process_element("a", 6)
        test.process_watermark(15)
        assert test.output() == [(("a", 2, "EVENT_TIME"), 15)]
        test.restore(snapshot)
        assert test.watermark == MIN
    test.process_watermark(15)
    assert test.output() == [(("a", 1, "EVENT_TIME"), 15)]


class Forgetful(MapFunction):
    def __init__(self) -> None:
        self.seen = 0

    def map(self, value: Any) -> Any:
        self.seen += 1
        return self.seen


def test_what_a_function_keeps_in_itself_is_gone_after_a_restore() -> None:
    function = Forgetful()
    test = harness(lambda s: s.map(function))
    test.process_element("x")
    test.process_element("x")
    test.restore(test.snapshot())
    test.process_element("x")
    assert test.output() == [(1, None), (2, None), (1, None)]
    assert function.seen == 0


def test_a_chain_of_windows_fires_in_one_step_and_the_end_fires_the_rest() -> None:
    def build(stream: Any) -> Any:
        short = stream.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of("10 ms")).sum(1)
        return short.window_all(TumblingEventTimeWindows.of("20 ms")).sum(1)

    with harness(build, parallelism=3) as test:
        for number in range(30):
            test.process_element((number % 5, 1), number)
        test.process_watermark(19)
        assert [value[1] for value, _ in test.output()] == [20]
    assert [(value[1], stamp) for value, stamp in test.output()] == [(10, 39)]
    assert test.watermark == MAX


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        if value % 2:
            ctx.output(ODD, value)
        else:
            yield value


def test_side_outputs_are_taken_by_their_tag() -> None:
    test = harness(lambda s: s.process(Split()))
    for number in range(4):
        test.process_element(number, number * 10)
    assert test.output() == [(0, 0), (2, 20)]
    assert test.side_output(ODD) == [(1, 10), (3, 30)]
    assert test.side_output(ODD) == []
    with pytest.raises(ArgumentError, match="make the tag before"):
        test.side_output(OutputTag("made too late"))


class Sides(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "first", value

    def map2(self, value: Any) -> Any:
        return "second", value


def test_two_streams_have_watermarks_of_their_own() -> None:
    test = harness(lambda a, b: a.connect(b).map(Sides()))
    test.process_element1(1, 5)
    test.process_element2(2, 6)
    assert sorted(test.output()) == [(("first", 1), 5), (("second", 2), 6)]
    test.process_watermark1(20)
    assert test.watermark == MIN
    test.process_watermark2(10)
    assert test.watermark == 10
    test.restore(test.snapshot())
    test.process_watermark(15)
    assert test.watermark == 15


class Rules(BroadcastProcessFunction):
    descriptor = MapStateDescriptor("rules", Types.STRING(), Types.INT())

    def process_element(self, value: Any, ctx: Any) -> Any:
        factor = ctx.get_broadcast_state(self.descriptor).get("factor")
        yield value * (factor or 1)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(self.descriptor).put("factor", value)


def test_a_broadcast_stream() -> None:
    test = harness(lambda s, rules: s.connect(rules.broadcast(Rules.descriptor)).process(Rules()), parallelism=2)
    test.process_element(2)
    test.process_broadcast_element(10)
    test.restore(test.snapshot())
    test.process_element(3)
    assert test.output() == [(2, None), (30, None)]


def test_streams_of_declared_types() -> None:
    test = harness(lambda s: s.key_by("id").sum("n"), Types.ROW_NAMED(["id", "n"], [Types.STRING(), Types.INT()]))
    test.process_element(("a", 1))
    test.process_element(("a", 2))
    assert [tuple(value) for value, _ in test.output()] == [("a", 1), ("a", 3)]


def test_failures_are_raised_where_the_step_was_made() -> None:
    test = harness(lambda s: s.key_by(lambda v: v).map(lambda v: 1 / v).name("Divide"))
    with pytest.raises(UserFunctionError, match="division by zero") as caught:
        test.process_element(0)
    assert caught.value.report.operator == "Divide"


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_a_snapshot_goes_to_a_harness_of_another_parallelism(parallelism: int) -> None:
    def build(stream: Any) -> Any:
        return stream.key_by(lambda v: v).process(Reminder())

    first = harness(build, parallelism=3)
    keys = [f"key {number}" for number in range(20)]
    for number, key in enumerate(keys):
        first.process_element(key, number)
    first.process_watermark(5)
    test = harness(build, parallelism=parallelism)
    test.restore(first.snapshot())
    assert test.watermark == 5
    test.process_element(keys[0], 100)
    test.process_watermark(50)
    expected = [((key, 2 if key == keys[0] else 1, "EVENT_TIME"), 10 + number) for number, key in enumerate(keys)]
    assert sorted(test.output(), key=lambda each: each[1]) == expected
    test.set_processing_time(10)
    assert sorted(key for (key, *_), _ in test.output()) == sorted(keys)


class SeenByAll(MapFunction, CheckpointedFunction):
    """Keeps how many records each subtask saw in a list of its own, and in one that all subtasks get."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.own = store.get_list_state(ListStateDescriptor("own", Types.INT()))
        self.union = store.get_union_list_state(ListStateDescriptor("union", Types.INT()))
        self.is_restored = context.is_restored()
        self.before = sorted(self.union.get())
        self.seen = sum(self.own.get())

    def snapshot_state(self, context: Any) -> None:
        self.own.update([self.seen])
        self.union.update([self.seen])

    def map(self, value: Any) -> Any:
        self.seen += 1
        return value, self.seen, self.is_restored, self.before


def test_functions_get_back_what_they_saved_themselves() -> None:
    test = harness(lambda s: s.rebalance().map(SeenByAll()), parallelism=2)
    for number in range(3):
        test.process_element(number)
    assert sorted(value for value, _ in test.output()) == [(0, 1, False, []), (1, 1, False, []), (2, 2, False, [])]
    test.restore(test.snapshot())
    test.process_element(3)
    ((_, seen, is_restored, before),) = [value for value, _ in test.output()]
    assert is_restored
    assert before == [1, 2]
    assert seen == 3  # the first subtask had two


ONE_STREAM: list[tuple[Callable[[Harness], Any], str]] = [
    (lambda test: test.process_element(1, float("nan")), "process_element: timestamp is nan; expected whole milli"),
    (lambda test: test.process_element(1, 1.5), "process_element: timestamp is 1.5"),
    (lambda test: test.process_element(1, 1 << 63), "that fit into 64 bits"),
    (lambda test: test.process_watermark(float("nan")), "process_watermark: watermark is nan"),
    (lambda test: test.set_processing_time(float("inf")), "set_processing_time: now is inf"),
    (lambda test: test.set_processing_time(-1), "now is -1, and the clock shows 0"),
    (lambda test: test.process_element2(1), "process_element2: build takes one stream"),
    (lambda test: test.process_watermark2(1), "process_watermark2: build takes one stream"),
    (lambda test: test.restore(5), "restore: 5 is no snapshot of a harness"),
    (lambda test: (test.close(), test.process_element(1)), r"process_element: the streams have ended, by close\(\)"),
    (lambda test: (test.close(), test.process_watermark(1)), "process_watermark: the streams have ended"),
]


@pytest.mark.parametrize(("step", "message"), ONE_STREAM)
def test_what_no_stream_could_do_is_refused(step: Callable[[Harness], Any], message: str) -> None:
    test = harness(lambda stream: stream)
    with pytest.raises(ArgumentError, match=message):
        step(test)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: harness(lambda stream: None), r"build returned None \(NoneType\); expected a DataStream"),
        (lambda: harness(lambda stream: stream, Types.INT(), Types.INT()), "there are 2 types for 1 streams"),
    ],
)
def test_what_is_no_pipeline_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_watermark_that_goes_back_is_ignored() -> None:
    test = harness(lambda stream: stream.key_by(lambda n: 0).window(TumblingEventTimeWindows.of(10)).sum())
    test.process_watermark(20)
    test.process_watermark(5)
    test.process_element(1, 7)
    test.restore(test.snapshot())
    assert (test.watermark, test.counter("num_late_records_dropped")) == (20, 1)


def test_windows_of_all_records_are_in_one_subtask_whatever_the_parallelism() -> None:
    windows = TumblingEventTimeWindows.of(10)
    test = harness(lambda stream: stream.window_all(windows).reduce(lambda a, b: a + b), parallelism=3)
    for number in range(9):
        test.process_element(number, number)
        test.restore(test.snapshot())
    test.process_watermark(9)
    assert test.output() == [(36, 9)]
