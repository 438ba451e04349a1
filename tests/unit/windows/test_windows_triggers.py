"""When windows fire: every trigger, all four results, custom ones."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.datastream import DataStream, WindowFunction
from penstock.datastream.state import AggregatingStateDescriptor, ListStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountSlidingWindowAssigner,
    CountTrigger,
    DeltaFunction,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.functions import AggregateFunction

MAX = (1 << 63) - 1


class Contents(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, [number for _, number in inputs]


def contents(assigner: Any, trigger: Any = None) -> Any:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda pair: pair[0]).window(assigner)
        return (windows if trigger is None else windows.trigger(trigger)).apply(Contents())

    return build


def sums(assigner: Any, trigger: Any) -> Any:
    return lambda s: (
        s.key_by(lambda pair: pair[0]).window(assigner).trigger(trigger).reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


def values(results: list[tuple[Any, int | None]]) -> list[Any]:
    return [value for value, _ in results]


def test_a_continuous_trigger_fires_at_multiples_of_its_interval_and_at_the_end(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of("10 ms"), ContinuousEventTimeTrigger.of("4 ms")))
    run.add((("a", 1), 1), (("a", 2), 2))
    assert run.watermark(3) == []
    assert run.watermark(4) == [(("a", 3), 9)]
    run.add((("a", 4), 6))
    assert run.watermark(8) == [(("a", 7), 9)]
    assert run.watermark(9) == [(("a", 7), 9)]
    assert run.stored() == 0


def test_before_1970_a_continuous_trigger_waits_as_long_as_java_does(scenario: Any) -> None:
    run = scenario(sums(TumblingEventTimeWindows.of("20 ms"), ContinuousEventTimeTrigger.of("4 ms")))
    run.add((("a", 1), -18))
    assert run.watermark(-13) == []  # a multiple of 4 before -18 is -20, but Java finds -16, and adds 4
    assert run.watermark(-12) == [(("a", 1), -1)]
    assert run.watermark(-8) == [(("a", 1), -1)]
    assert run.watermark(-1) == [(("a", 1), -1)] * 2  # at -4 and at the end


def test_a_continuous_trigger_works_where_windows_never_end(scenario: Any) -> None:
    run = scenario(sums(GlobalWindows.create(), ContinuousEventTimeTrigger.of("3 s")))
    run.add((("k1", 1), 0), (("k2", 1), 3000), (("k2", 1), 3999), (("k1", 1), 20), (("k1", 1), 999))
    run.add((("k2", 1), 1998), (("k2", 1), 1999), (("k2", 1), 1000))
    assert run.watermark(2000) == []
    assert run.watermark(3000) == [(("k1", 3), 3000)]
    assert run.watermark(5000) == []
    assert run.watermark(6000) == [(("k1", 3), 6000), (("k2", 5), 6000)]
    assert run.watermark(8000) == []
    assert run.end() == [(("k1", 3), 9000), (("k2", 5), 9000), (("k1", 3), MAX), (("k2", 5), MAX)]


def test_a_continuous_trigger_of_the_clock(scenario: Any) -> None:
    run = scenario(sums(TumblingProcessingTimeWindows.of("10 ms"), ContinuousProcessingTimeTrigger.of("4 ms")))
    run.clock(1)
    run.add((("a", 1), None))
    assert run.clock(4) == []
    assert run.clock(5) == [(("a", 1), 9)]
    run.add((("a", 2), None))
    assert run.clock(9) == [(("a", 3), 9)]
    assert run.clock(10) == [(("a", 3), 9)]
    assert run.clock(100) == []
    assert run.stored() == 0


def test_a_count_trigger_counts_anew_after_firing_and_keeps_the_contents(scenario: Any) -> None:
    run = scenario(contents(GlobalWindows.create(), CountTrigger.of(2)))
    run.add((("a", 1), None), (("b", 5), None), (("a", 2), None), (("a", 3), None), (("a", 4), None))
    assert values(run.results()) == [("a", [1, 2, 3, 4]), ("a", [1, 2])]
    assert run.end() == []


def test_a_purging_trigger_starts_from_nothing(scenario: Any) -> None:
    run = scenario(contents(GlobalWindows.create(), PurgingTrigger.of(CountTrigger.of(2))))
    run.add((("a", 1), None), (("a", 2), None), (("a", 3), None), (("a", 4), None))
    assert run.results() == [(("a", [1, 2]), None), (("a", [3, 4]), None)]


@pytest.mark.parametrize(
    "distance",
    [
        lambda old, new: new[1] - old[1],
        type(
            "D",
            (DeltaFunction,),
            {"get_delta": lambda self, old_data_point, new_data_point: new_data_point[1] - old_data_point[1]},
        )(),
    ],
)
def test_a_delta_trigger_fires_when_a_record_is_far_from_the_last_one_that_fired(scenario: Any, distance: Any) -> None:
    run = scenario(contents(GlobalWindows.create(), DeltaTrigger.of(10, distance)))
    run.add((("a", 1), None), (("a", 11), None), (("a", 12), None), (("a", 20), None), (("a", 23), None))
    assert values(run.results()) == [("a", [1, 11, 12, 20, 23]), ("a", [1, 11, 12])]


def test_global_windows_never_fire_by_themselves(scenario: Any) -> None:
    run = scenario(contents(GlobalWindows.create()))
    assert run.add((("a", 1), 1)).watermark(100) == []
    assert run.end() == []
    assert scenario(contents(GlobalWindows.create(), NeverTrigger())).add((("a", 1), 1)).end() == []


def test_the_end_of_the_stream_fires_global_windows_that_are_made_so(scenario: Any) -> None:
    run = scenario(contents(GlobalWindows.create_with_end_of_stream_trigger()))
    run.add((("a", 1), 5), (("b", 2), None), (("a", 3), 1))
    assert run.watermark(MAX - 1) == []
    assert run.end() == [(("a", [1, 3]), MAX), (("b", [2]), MAX)]


def test_a_timeout_fires_what_the_trigger_inside_does_not(scenario: Any) -> None:
    run = scenario(contents(GlobalWindows.create(), ProcessingTimeoutTrigger.of(CountTrigger.of(3), "10 ms")))
    run.add((("a", 1), None), (("a", 2), None))
    run.clock(6)
    run.add((("b", 1), None))
    assert values(run.clock(11)) == [("a", [1, 2])]
    run.add((("a", 3), None), (("a", 4), None))
    assert run.results() == []
    assert values(run.clock(17)) == [("b", [1])]
    assert run.add((("a", 5), None)).results() == [(("a", [1, 2, 3, 4, 5]), None)]
    assert run.clock(1000) == []


def test_a_timeout_may_start_anew_with_every_record_and_keep_the_count(scenario: Any) -> None:
    trigger = ProcessingTimeoutTrigger.of(
        PurgingTrigger.of(CountTrigger.of(3)), "10 ms", reset_timer_on_new_record=True, should_clear_on_timeout=False
    )
    run = scenario(contents(GlobalWindows.create(), trigger))
    run.add((("a", 1), None))
    run.clock(8)
    run.add((("a", 2), None))
    assert run.clock(12) == []
    assert values(run.clock(19)) == [("a", [1, 2])]
    assert run.add((("a", 3), None)).results() == [(("a", [1, 2, 3]), None)]


class Script(Trigger):
    """Does what the record says."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult[element[2]]

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        return


class Numbers(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield [record[1] for record in inputs]


def test_all_four_results_of_a_trigger(scenario: Any) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of("10 ms"))
        return windows.trigger(Script()).apply(Numbers())

    run = scenario(build)
    run.add((("a", 1, "CONTINUE"), 0), (("a", 2, "FIRE"), 0), (("a", 3, "FIRE_AND_PURGE"), 0))
    run.add((("a", 4, "CONTINUE"), 0), (("a", 5, "PURGE"), 0), (("a", 6, "FIRE"), 0))
    assert values(run.results()) == [[1, 2, 3], [1, 2], [6]]
    assert run.watermark(9) == []
    assert run.stored() == 0


class Longest(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return max(value, accumulator)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return max(acc_a, acc_b)


class MergesAllKinds(EventTimeTrigger):
    """Fires early when list and aggregate, which merge with the sessions, have come far enough."""

    def __init__(self) -> None:
        self.seen = ListStateDescriptor("seen", Types.INT())
        self.longest = AggregatingStateDescriptor("longest", Longest(), Types.INT())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(self.seen).add(element[1])
        ctx.get_partitioned_state(self.longest).add(element[1])
        super().on_element(element, timestamp, window, ctx)
        seen = ctx.get_partitioned_state(self.seen).get()
        enough = len(seen) >= 3 and ctx.get_partitioned_state(self.longest).get() >= 5
        return TriggerResult.FIRE if enough else TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.seen)
        ctx.merge_partitioned_state(self.longest)
        super().on_merge(window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        super().clear(window, ctx)
        ctx.get_partitioned_state(self.seen).clear()
        ctx.get_partitioned_state(self.longest).clear()


def test_state_of_a_trigger_merges_with_its_windows(scenario: Any) -> None:
    run = scenario(contents(EventTimeSessionWindows.with_gap("10 ms"), MergesAllKinds()))
    run.add((("a", 5), 0), (("a", 1), 15))
    assert run.results() == []
    assert run.add((("a", 2), 8)).results() == [(("a", [5, 1, 2]), 24)]
    assert run.watermark(24) == [(("a", [5, 1, 2]), 24)]
    assert run.stored() == 0


class MergesAValue(EventTimeTrigger):
    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(ValueStateDescriptor("last"))


def test_state_that_cannot_be_merged_is_refused(scenario: Any) -> None:
    run = scenario(contents(EventTimeSessionWindows.with_gap("10 ms"), MergesAValue()))
    with pytest.raises(UserFunctionError, match="'trigger: last' cannot be merged"):
        run.add((("a", 1), 0), (("a", 2), 5))


class BothTimes(Trigger):
    """Sets timers of both times that the operator's own windows do not need."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(timestamp + 2)
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + 5)
        ctx.get_metric_group().counter("asked").inc()
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.delete_event_time_timer(7)
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if ctx.get_current_watermark() >= time else TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        return


def test_a_custom_trigger_has_timers_of_both_times(scenario: Any) -> None:
    run = scenario(contents(TumblingEventTimeWindows.of("10 ms"), BothTimes()))
    run.add((("a", 1), 1), (("a", 2), 5))
    assert run.watermark(3) == [(("a", [1, 2]), 9)]
    assert run.clock(6) == [(("a", [1, 2]), 9)]
    assert run.watermark(8) == []
    assert run.harness.counter("asked") == 2
    run.watermark(9)
    assert run.add((("b", 1), 11)).clock(100) == [(("b", [1]), 19)]


def test_an_event_time_trigger_in_windows_of_the_clock_is_cleaned_up_by_the_clock(scenario: Any) -> None:
    run = scenario(contents(TumblingProcessingTimeWindows.of("10 ms"), EventTimeTrigger()))
    run.clock(3)
    run.add((("a", 1), None), (("b", 2), None))
    assert run.watermark(9) == [(("a", [1]), 9), (("b", [2]), 9)]
    assert run.clock(10) == []
    assert run.stored() == 0


def test_a_processing_time_trigger_in_windows_of_event_time(scenario: Any) -> None:
    run = scenario(contents(TumblingEventTimeWindows.of("10 ms"), ProcessingTimeTrigger()))
    run.add((("a", 1), 5))
    assert run.clock(10) == [(("a", [1]), 9)]
    assert run.watermark(9) == []
    assert run.stored() == 0


def test_count_windows_are_full_or_not_there(scenario: Any) -> None:
    run = scenario(lambda s: s.key_by(lambda pair: pair[0]).count_window(2).apply(Contents()))
    run.add((("a", 1), None), (("a", 2), 7), (("b", 9), None), (("a", 3), None), (("a", 4), None), (("a", 5), None))
    assert run.results() == [(("a", [3, 4]), None), (("a", [1, 2]), 7)]  # the time of the record that fills it
    assert run.end() == []


def test_sliding_count_windows_begin_every_so_many_records(scenario: Any) -> None:
    run = scenario(contents(CountSlidingWindowAssigner.of(3, 2)))
    run.add(*((("a", number), None) for number in range(1, 9)))
    assert values(run.results()) == [("a", [1, 2, 3]), ("a", [3, 4, 5]), ("a", [5, 6, 7])]
    run = scenario(lambda s: s.key_by(lambda pair: pair[0]).count_window(2, 3).apply(Contents()))
    run.add(*((("a", number), None) for number in range(1, 9)))
    assert values(run.results()) == [("a", [1, 2]), ("a", [4, 5]), ("a", [7, 8])]


def test_count_windows_that_have_fired_leave_nothing_behind(scenario: Any) -> None:
    run = scenario(lambda s: s.key_by(lambda pair: pair[0]).count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1])))
    run.add(*((("a", number), None) for number in range(1, 21)))
    assert run.stored() == 1  # how many records the key has had
