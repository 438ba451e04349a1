from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.functions import MapFunction, OutputTag, ProcessFunction, RuntimeContext
from penstock.runtime import FilterOperator, FlatMapOperator, MapOperator, Operator, ProcessOperator
from unit.runtime.operator_harness import ANY, Harness

LATE = OutputTag("late")


def test_map_keeps_timestamps() -> None:
    harness = Harness(lambda: MapOperator(lambda value: value * 2, ANY))
    harness.process([1, 2, 3], timestamps=[10, None, 30])
    harness.process([5])
    assert harness.taken() == [(2, 10), (4, None), (6, 30), (10, None)]


def test_map_may_return_none() -> None:
    harness = Harness(lambda: MapOperator(lambda value: None, ANY))
    harness.process([1])
    assert harness.values() == [None]


def test_filter_keeps_what_the_function_calls_true() -> None:
    harness = Harness(lambda: FilterOperator(lambda value: value % 3, ANY))
    harness.process([1, 2, 3, 4], timestamps=[10, 20, 30, 40])
    harness.process([3, 6])
    assert harness.taken() == [(1, 10), (2, 20), (4, 40)]
    assert harness.output.batch_sizes == [3]


def test_flat_map_takes_generators_iterables_and_none() -> None:
    def split(text: str) -> Any:
        return {"none": None, "list": ["l", "i"], "empty": []}.get(text, (letter for letter in text))

    for timestamps in (None, [1, 2, 3, 4]):
        harness = Harness(lambda: FlatMapOperator(split, ANY))
        harness.process(["none", "list", "empty", "ab"], timestamps=timestamps)
        assert harness.taken() == [
            (value, timestamps and timestamps[index]) for value, index in (("l", 1), ("i", 1), ("a", 3), ("b", 3))
        ]


def test_process_sees_timestamp_watermark_and_processing_time() -> None:
    def look(value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        time = ctx.timer_service()
        yield value, ctx.timestamp(), time.current_watermark(), time.current_processing_time()

    harness = Harness(lambda: ProcessOperator(look, ANY))
    harness.watermark(42)
    harness.process(["a", "b"], timestamps=[50, None])
    harness.process(["c"])
    assert harness.taken() == [
        (("a", 50, 42, 1000), 50),
        (("b", None, 42, 1000), None),
        (("c", None, 42, 1000), None),
    ]


def test_a_restored_watermark_is_known_to_the_function() -> None:
    harness = Harness(
        lambda: ProcessOperator(lambda value, ctx: [ctx.timer_service().current_watermark()], ANY), restarts=True
    )
    harness.watermark(42)
    harness.process(["a"])
    assert harness.values() == [42]


class Split(ProcessFunction):
    """Odd numbers to a side output: by `yield` below ten, by `ctx.output` above."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2 == 0:
            yield value
        elif value < 10:
            yield LATE, value
        else:
            ctx.output(LATE, value)


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3, 4, 5]])
def test_side_outputs(timestamps: list[int] | None) -> None:
    harness = Harness(lambda: ProcessOperator(Split(), ANY, {"late": ANY}))
    harness.process([2, 3, 4, 15, 5], timestamps=timestamps)
    at = (lambda index: timestamps[index]) if timestamps else lambda index: None
    assert harness.taken() == [(2, at(0)), (4, at(2))]
    assert sorted(harness.taken("late")) == sorted([(3, at(1)), (15, at(3)), (5, at(4))])


def test_a_side_output_that_nobody_reads_is_dropped() -> None:
    harness = Harness(lambda: ProcessOperator(Split(), ANY))
    harness.process([2, 3, 15])
    assert harness.output.sent == [(None, 2, None)]


def test_tuples_are_ordinary_results() -> None:
    harness = Harness(lambda: ProcessOperator(lambda value, ctx: [(value,), (), (value, LATE)], ANY, {"late": ANY}))
    harness.process([1])
    assert harness.values() == [(1,), (), (1, LATE)]


@pytest.mark.parametrize("timestamps", [None, [7]])
def test_results_of_one_record_are_sent_on_while_it_still_yields(timestamps: list[int] | None) -> None:
    harness: Harness
    sent_when_half_done: list[int] = []

    def count(value: int, ctx: Any) -> Iterator[int]:
        for number in range(value):
            if number == 20_000:
                sent_when_half_done.append(len(harness.output.sent))
            yield number

    harness = Harness(lambda: ProcessOperator(count, ANY))
    harness.process([25_000], timestamps=timestamps)
    assert sent_when_half_done == [20_000]
    assert harness.output.batch_sizes == [10_000, 10_000, 5_000]
    assert harness.taken() == [(number, timestamps and 7) for number in range(25_000)]


def test_many_side_outputs_of_one_record_are_sent_on_in_parts() -> None:
    def count(value: int, ctx: ProcessFunction.Context) -> None:
        for number in range(value):
            ctx.output(LATE, number)

    harness = Harness(lambda: ProcessOperator(count, ANY, {"late": ANY}))
    harness.process([25_000])
    assert harness.output.batch_sizes == [10_000, 10_000, 5_000]
    assert harness.values("late") == list(range(25_000))


def test_user_code_cannot_swallow_a_failure_of_a_consumer() -> None:
    def count(value: int, ctx: ProcessFunction.Context) -> None:
        for number in range(value):
            try:
                ctx.output(LATE, number)
            except Exception:
                continue

    harness = Harness(lambda: ProcessOperator(count, ANY, {"late": ANY}))

    def fail(tag: str, batch: Any) -> None:
        raise OSError("disk full")

    harness.output.emit_side = fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match="disk full"):
        harness.process([25_000])


def test_timers_need_a_key() -> None:
    def set_timer(value: Any, ctx: ProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(5)

    harness = Harness(lambda: ProcessOperator(set_timer, ANY))
    with pytest.raises(UserFunctionError, match=r"timers belong to keys and its input is not keyed; put key_by"):
        harness.process([1])


class Lifecycle(MapFunction):
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls.append(
            (
                runtime_context.get_task_name(),
                runtime_context.get_task_name_with_subtasks(),
                runtime_context.get_index_of_this_subtask(),
                runtime_context.get_number_of_parallel_subtasks(),
                runtime_context.get_max_number_of_parallel_subtasks(),
                runtime_context.get_attempt_number(),
                runtime_context.get_job_parameter("region", "none"),
                runtime_context.get_job_parameter("color", "none"),
            )
        )
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: int) -> int:
        self.seen.inc()
        return value

    def close(self) -> None:
        self.calls.append("closed")


def test_a_function_is_opened_once_with_its_context_and_closed() -> None:
    function = Lifecycle()
    harness = Harness(lambda: MapOperator(function, ANY))
    harness.process([1, 2])
    harness.end_epoch()
    harness.process([3])
    harness.operator.close()
    assert function.calls == [("Sessions", "Sessions (2/4)#0", 1, 4, 128, 0, "north", "none"), "closed"]
    assert harness.context.metrics.snapshot()["counters"] == {"seen": 3}


def test_state_needs_a_key() -> None:
    class Stateful(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(None)  # type: ignore[arg-type]

        def map(self, value: int) -> int:
            return value

    with pytest.raises(UserFunctionError, match=r"keyed state, but its input is not keyed; put key_by"):
        Harness(lambda: MapOperator(Stateful(), ANY))


@pytest.mark.parametrize(
    "make_operator",
    [
        lambda function: MapOperator(function, ANY),
        lambda function: FilterOperator(function, ANY),
        lambda function: FlatMapOperator(function, ANY),
        lambda function: ProcessOperator(lambda value, ctx: function(value), ANY),
    ],
)
@pytest.mark.parametrize("timestamps", [None, [1, 2, 3, 4]])
def test_a_failure_names_the_record(make_operator: Any, timestamps: list[int] | None) -> None:
    def fail_on_three(value: int) -> list[int]:
        return [6 // (3 - value)]

    def make() -> Operator:
        return make_operator(fail_on_three)

    harness = Harness(make)
    with pytest.raises(UserFunctionError) as failure:
        harness.process([1, 2, 3, 4], timestamps=timestamps)
    assert failure.value.report.record == "3"
    assert failure.value.report.error_type == "ZeroDivisionError"


@pytest.mark.parametrize("timestamps", [None, [1]])
def test_a_generator_that_fails_late_names_the_record(timestamps: list[int] | None) -> None:
    def fail_late(value: Any, ctx: Any) -> Iterator[Any]:
        yield 1
        raise ValueError("late")

    harness = Harness(lambda: ProcessOperator(fail_late, ANY))
    with pytest.raises(UserFunctionError) as failure:
        harness.process(["x"], timestamps=timestamps)
    assert failure.value.report.record == "'x'"


@pytest.mark.parametrize("timestamps", [None, [1]])
def test_a_result_that_is_no_iterable_is_explained(timestamps: list[int] | None) -> None:
    harness = Harness(lambda: FlatMapOperator(lambda value: value + 1, ANY))
    with pytest.raises(UserFunctionError, match="expected it to yield its results") as failure:
        harness.process([5], timestamps=timestamps)
    assert failure.value.report.record == "5"
