from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.batch import Batch
from penstock.common.errors import StateError, UserFunctionError
from penstock.common.typeinfo import Types
from penstock.functions import KeyedProcessFunction, OutputTag, RuntimeContext, TimeDomain
from penstock.runtime import KeyedProcessOperator
from penstock.state.descriptors import ValueStateDescriptor
from unit.runtime.operator_harness import ANY, Harness

ALERTS = OutputTag("alerts")


def first(record: tuple[Any, ...]) -> Any:
    return record[0]


class RunningSum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        total = (self.sum.value() or 0) + value[1]
        self.sum.update(total)
        yield ctx.get_current_key(), total


class Reminders(KeyedProcessFunction):
    """Records are (key, kind of timer, time): sets or deletes the timer; when it fires, says so."""

    def process_element(self, value: tuple[str, str, int], ctx: KeyedProcessFunction.Context) -> None:
        getattr(ctx.timer_service(), value[1])(value[2])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.time_domain()


def sums(*, restarts: bool = False) -> Harness:
    return Harness(lambda: KeyedProcessOperator(RunningSum(), ANY), restarts=restarts)


def reminders(*, restarts: bool = False) -> Harness:
    return Harness(lambda: KeyedProcessOperator(Reminders(), ANY), restarts=restarts)


@pytest.mark.parametrize("restarts", [False, True])
def test_state_belongs_to_the_key_and_outlives_the_operator(restarts: bool) -> None:
    harness = sums(restarts=restarts)
    harness.process([("a", 1), ("b", 10), ("a", 2)], key=first)
    harness.process([("b", 20), ("a", 3)], key=first, timestamps=[7, 8])
    assert harness.taken() == [
        (("a", 1), None),
        (("b", 10), None),
        (("a", 3), None),
        (("b", 30), 7),
        (("a", 6), 8),
    ]


def test_a_failed_epoch_leaves_no_state_behind() -> None:
    harness = sums()
    harness.process([("a", 1)], key=first)
    harness.end_epoch()
    harness.process([("a", 100)], key=first)
    harness.store.discard_changes()
    harness.operator.drop_caches()
    harness.operator.begin_epoch()
    harness.process([("a", 2)], key=first)
    assert harness.values()[-1] == ("a", 3)


def test_after_drop_caches_the_same_handles_see_what_another_process_wrote() -> None:
    harness, elsewhere = sums(), sums()
    harness.process([("a", 1)], key=first)
    harness.end_epoch()
    elsewhere.process([("a", 50)], key=first)
    elsewhere.operator.end_epoch()
    harness.store.apply(elsewhere.store.changes(), "elsewhere")
    harness.operator.drop_caches()
    harness.process([("a", 1)], key=first)
    assert harness.values()[-1] == ("a", 51)


@pytest.mark.parametrize("restarts", [False, True])
def test_event_time_timers_fire_with_the_watermark_and_give_their_time(restarts: bool) -> None:
    harness = reminders(restarts=restarts)
    harness.process(
        [(key, "register_event_time_timer", time) for key, time in (("a", 30), ("b", 10), ("a", 20), ("b", 10))],
        key=first,
        timestamps=[1, 2, 3, 4],
    )
    harness.watermark(9)
    assert harness.taken() == []
    harness.watermark(20)
    event_time = TimeDomain.EVENT_TIME
    assert harness.taken() == [(("b", 10, 10, event_time), 10), (("a", 20, 20, event_time), 20)]
    harness.watermark(29)
    harness.watermark(30)
    assert harness.taken() == [(("a", 30, 30, event_time), 30)]


@pytest.mark.parametrize("restarts", [False, True])
def test_processing_time_timers_fire_with_the_clock_and_give_no_timestamps(restarts: bool) -> None:
    harness = reminders(restarts=restarts)
    harness.process([("a", "register_processing_time_timer", 2_000)], key=first, timestamps=[5])
    assert harness.operator.next_processing_timer() == 2_000
    harness.watermark(10_000)
    harness.clock(1_999)
    assert harness.taken() == []
    harness.clock(2_000)
    assert harness.taken() == [(("a", 2_000, 2_000, TimeDomain.PROCESSING_TIME), None)]
    assert harness.operator.next_processing_timer() is None


@pytest.mark.parametrize("restarts", [False, True])
def test_deleted_timers_do_not_fire(restarts: bool) -> None:
    harness = reminders(restarts=restarts)
    harness.process([("a", "register_event_time_timer", 10), ("b", "register_event_time_timer", 10)], key=first)
    harness.process([("a", "delete_event_time_timer", 10), ("a", "delete_event_time_timer", 99)], key=first)
    harness.process([("a", "register_processing_time_timer", 1_500)], key=first)
    harness.process([("a", "delete_processing_time_timer", 1_500)], key=first)
    harness.watermark(10)
    harness.clock(2_000)
    assert [value[0] for value in harness.values()] == ["b"]


def test_a_timer_for_a_time_that_has_passed_fires_with_the_next_watermark() -> None:
    harness = reminders()
    harness.watermark(100)
    harness.process([("a", "register_event_time_timer", 50)], key=first)
    assert harness.values() == []
    harness.watermark(101)
    assert [value[1] for value in harness.values()] == [50]


def test_a_watermark_that_does_not_rise_changes_nothing() -> None:
    harness = reminders()
    harness.operator.advance_watermark(100)
    harness.process([("a", "register_event_time_timer", 50)], key=first)
    assert harness.operator.advance_watermark(90) == 100
    assert harness.values() == []


@pytest.mark.parametrize("restarts", [False, True])
def test_on_timer_uses_the_state_of_its_key_and_sets_further_timers(restarts: bool) -> None:
    class CountDown(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))

        def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
            self.left.update(value[1])
            ctx.timer_service().register_event_time_timer(10)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
            left = self.left.value() - 1
            self.left.update(left)
            if left:
                ctx.timer_service().register_event_time_timer(timestamp + 10)
            return [(ctx.get_current_key(), left, ctx.timer_service().current_watermark())]

    harness = Harness(lambda: KeyedProcessOperator(CountDown(), ANY), restarts=restarts)
    harness.process([("a", 3), ("b", 2)], key=first)
    harness.watermark(25)
    at_25 = harness.taken()
    assert sorted(at_25) == [(("a", 1, 25), 20), (("a", 2, 25), 10), (("b", 0, 25), 20), (("b", 1, 25), 10)]
    assert [stamp for _, stamp in at_25] == [10, 10, 20, 20]
    harness.watermark(1_000)
    assert harness.taken() == [(("a", 0, 1_000), 30)]


def test_side_outputs_of_records_and_timers() -> None:
    class Alarms(KeyedProcessFunction):
        def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            ctx.timer_service().register_event_time_timer(10)
            ctx.timer_service().register_processing_time_timer(2_000)
            ctx.output(ALERTS, "record")
            yield ALERTS, value

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            ctx.output(ALERTS, timestamp)
            yield ALERTS, -timestamp
            yield "main"

    harness = Harness(lambda: KeyedProcessOperator(Alarms(), ANY, {"alerts": ANY}))
    harness.process([("a", 1)], key=first, timestamps=[5])
    assert sorted(harness.taken("alerts"), key=repr) == [("record", 5), (("a", 1), 5)]
    harness.watermark(10)
    assert sorted(harness.taken("alerts")) == [(-10, 10), (10, 10)]
    harness.clock(2_000)
    assert sorted(harness.taken("alerts")) == [(-2_000, None), (2_000, None)]
    assert harness.taken() == [("main", 10), ("main", None)]


def test_plain_functions_are_accepted() -> None:
    harness = Harness(lambda: KeyedProcessOperator(lambda value, ctx: [ctx.get_current_key()], ANY))
    harness.process([("a", 1)], key=first)
    harness.watermark(5)
    assert harness.values() == ["a"]


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3]])
def test_a_failure_names_record_and_key(timestamps: list[int] | None) -> None:
    class Divide(KeyedProcessFunction):
        def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            yield 1 // value[1]

    harness = Harness(lambda: KeyedProcessOperator(Divide(), ANY))
    with pytest.raises(UserFunctionError) as failure:
        harness.process([("a", 1), ("b", 0), ("c", 1)], key=first, timestamps=timestamps)
    assert (failure.value.report.record, failure.value.report.key) == ("('b', 0)", "'b'")


def test_a_failure_in_a_timer_names_timer_and_key() -> None:
    class Broken(Reminders):
        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
            raise ValueError("broken")

    harness = Harness(lambda: KeyedProcessOperator(Broken(), ANY))
    harness.process([("b", "register_event_time_timer", 10)], key=first)
    with pytest.raises(UserFunctionError) as failure:
        harness.watermark(10)
    assert (failure.value.report.record, failure.value.report.key) == ("event-time timer at 10", "'b'")


def test_state_without_a_current_key_is_refused() -> None:
    class Hasty(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG())).value()

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            return None

    with pytest.raises(UserFunctionError) as failure:
        Harness(lambda: KeyedProcessOperator(Hasty(), ANY))
    assert failure.value.report.error_type == "StateError"


def test_a_value_that_cannot_be_saved_is_reported_with_the_operator() -> None:
    class Unsaveable(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.lock = runtime_context.get_state(ValueStateDescriptor("lock"))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            self.lock.update(threading.Lock())

    harness = Harness(lambda: KeyedProcessOperator(Unsaveable(), ANY))
    with pytest.raises(UserFunctionError, match="state 'lock', key 'a': cannot save") as failure:
        harness.process([("a", 1)], key=first)
    assert failure.value.report.operator == "Sessions"
    assert failure.value.report.record == "('a', 1)"


def test_records_without_keys_are_not_dropped_in_silence() -> None:
    with pytest.raises(StateError, match="records without keys"):
        sums().operator.process(Batch(ANY, values=[("a", 1)]), 0)


class Everything(KeyedProcessFunction):
    """State, both kinds of timers and a side output, mixed by the numbers that come."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        time = ctx.timer_service()
        time.register_event_time_timer(value[1])
        time.register_processing_time_timer(1_000 + value[1])
        if count % 3 == 0:
            time.delete_event_time_timer(value[1] - 1)
            yield ALERTS, (value, count)
        yield value, count, time.current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        count = self.count.value() or 0
        if count > 4:
            self.count.clear()
            return
        self.count.update(count + 1)
        if ctx.time_domain() is TimeDomain.EVENT_TIME:
            ctx.timer_service().register_event_time_timer(timestamp + 2)
        yield ctx.get_current_key(), timestamp, count


steps = st.one_of(
    st.tuples(st.just("process"), st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20)), max_size=5)),
    st.tuples(st.just("watermark"), st.integers(0, 25)),
    st.tuples(st.just("clock"), st.integers(1_000, 1_030)),
)


@given(st.lists(steps, max_size=15))
def test_restarts_between_any_two_steps_change_nothing(sequence: list[tuple[str, Any]]) -> None:
    sent: list[list[Any]] = []
    for restarts in (False, True):
        harness = Harness(lambda: KeyedProcessOperator(Everything(), ANY, {"alerts": ANY}), restarts=restarts)
        for name, argument in sequence:
            if name == "process":
                harness.process(argument, key=first, timestamps=[value for _, value in argument])
            else:
                getattr(harness, name)(argument)
        sent.append(harness.output.sent)
    assert sent[0] == sent[1]
