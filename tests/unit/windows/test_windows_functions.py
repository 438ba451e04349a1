"""What window functions get, and what they can do."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.datastream import (
    AggregateFunction,
    AllWindowFunction,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from penstock.datastream.functions import PassThroughAllWindowFunction, PassThroughWindowFunction
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

SMALL = OutputTag("small")
TEN = TumblingEventTimeWindows.of("10 ms")


def keyed(stream: DataStream, assigner: Any = TEN) -> Any:
    return stream.key_by(lambda pair: pair[0]).window(assigner)


def add_up(first: Any, second: Any) -> Any:
    return first[0], first[1] + second[1]


class AddUp(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return add_up(value1, value2)


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return [0, 0]

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator[0] += value[1]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


class Apply(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, window.start, list(inputs)


class Process(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return [(key, context.window().end, list(elements))]


class ApplyAll(AllWindowFunction):
    def apply(self, window: Any, inputs: Any) -> Any:
        yield window.start, list(inputs)


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Any:
        yield context.window().end, list(elements)


RECORDS = ((("a", 1), 1), (("a", 3), 5), (("b", 4), 9))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda w: w.reduce(add_up), [("a", 4), ("b", 4)]),
        (lambda w: w.reduce(AddUp()), [("a", 4), ("b", 4)]),
        (lambda w: w.reduce(AddUp(), Apply()), [("a", 0, [("a", 4)]), ("b", 0, [("b", 4)])]),
        (lambda w: w.reduce(add_up, Process()), [("a", 10, [("a", 4)]), ("b", 10, [("b", 4)])]),
        (lambda w: w.aggregate(Mean()), [2.0, 4.0]),
        (lambda w: w.aggregate(Mean(), Apply()), [("a", 0, [2.0]), ("b", 0, [4.0])]),
        (lambda w: w.aggregate(Mean(), window_function=Process()), [("a", 10, [2.0]), ("b", 10, [4.0])]),
        (lambda w: w.apply(Apply()), [("a", 0, [("a", 1), ("a", 3)]), ("b", 0, [("b", 4)])]),
        (lambda w: w.apply(PassThroughWindowFunction()), [("a", 1), ("a", 3), ("b", 4)]),
        (lambda w: w.process(Process()), [("a", 10, [("a", 1), ("a", 3)]), ("b", 10, [("b", 4)])]),
    ],
)
def test_all_combinations_with_keys(scenario: Any, build: Any, expected: Any) -> None:
    run = scenario(lambda s: build(keyed(s)))
    run.add(*RECORDS)
    assert run.watermark(9) == [(value, 9) for value in expected]
    assert run.stored() == 0


class SumFromTwo(AggregateFunction):
    """Has no result while the sum is small."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator if accumulator > 1 else None

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.mark.parametrize("assigner", [TEN, EventTimeSessionWindows.with_gap("10 ms")])
@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda s, assigner: keyed(s, assigner).aggregate(SumFromTwo()), 5),
        (lambda s, assigner: keyed(s, assigner).aggregate(SumFromTwo(), Apply()), ("b", 0, [5])),
        (lambda s, assigner: s.map(lambda v: v, PAIR).key_by(0).window(assigner).aggregate(SumFromTwo()), 5),
    ],
    ids=["alone", "with a window function", "in columns"],
)
def test_an_aggregate_function_without_a_result_leaves_the_window_out(
    scenario: Any, assigner: Any, build: Any, expected: Any
) -> None:
    run = scenario(lambda s: build(s, assigner))
    run.add((("a", 1), 0), (("b", 5), 0), (("c", 0), 0))
    assert run.watermark(9) == [(expected, 9)]
    run.add((("a", 1), 30))
    assert run.end() == []
    assert run.stored() == 0


@pytest.mark.parametrize("assigner", [TEN, EventTimeSessionWindows.with_gap("10 ms")])
def test_a_late_record_that_gives_no_result_purges_nothing(scenario: Any, assigner: Any) -> None:
    run = scenario(
        lambda s: (
            keyed(s, assigner)
            .trigger(PurgingTrigger.of(EventTimeTrigger()))
            .allowed_lateness(100)
            .aggregate(SumFromTwo())
        )
    )
    assert run.add((("a", 5), 0)).watermark(9) == [(5, 9)]
    assert run.add((("a", 1), 0)).results() == []
    assert run.add((("a", 2), 0)).results() == [(3, 9)]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda w: w.reduce(add_up), [("a", 8)]),
        (lambda w: w.reduce(AddUp(), ApplyAll()), [(0, [("a", 8)])]),
        (lambda w: w.reduce(add_up, ProcessAll()), [(10, [("a", 8)])]),
        (lambda w: w.aggregate(Mean()), [8 / 3]),
        (lambda w: w.aggregate(Mean(), ApplyAll()), [(0, [8 / 3])]),
        (lambda w: w.aggregate(Mean(), ProcessAll()), [(10, [8 / 3])]),
        (lambda w: w.apply(ApplyAll()), [(0, [("a", 1), ("a", 3), ("b", 4)])]),
        (lambda w: w.apply(PassThroughAllWindowFunction()), [("a", 1), ("a", 3), ("b", 4)]),
        (lambda w: w.process(ProcessAll()), [(10, [("a", 1), ("a", 3), ("b", 4)])]),
    ],
)
def test_all_combinations_without_keys(scenario: Any, build: Any, expected: Any) -> None:
    run = scenario(lambda s: build(s.window_all(TEN)))
    run.add(*RECORDS)
    assert run.watermark(9) == [(value, 9) for value in expected]


def test_windows_of_numbers_of_all_records(scenario: Any) -> None:
    run = scenario(lambda s: s.count_window_all(2).reduce(lambda a, b: a + b))
    run.add((1, None), (2, None), (3, None))
    assert [value for value, _ in run.end()] == [3]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", [("a", 6, "x")]),
        ("min", [("a", 1, "x")]),
        ("max", [("a", 3, "x")]),
        ("min_by", [("a", 1, "y")]),
        ("max_by", [("a", 3, "z")]),
    ],
)
def test_fields_are_aggregated(scenario: Any, method: str, expected: Any) -> None:
    run = scenario(lambda s: getattr(keyed(s), method)(1))
    run.add((("a", 2, "x"), 1), (("a", 1, "y"), 2), (("a", 3, "z"), 3))
    assert run.watermark(9) == [(value, 9) for value in expected]


class Firings(ProcessWindowFunction):
    """Counts the firings of a window and those of its key, and says when a window goes away."""

    def __init__(self) -> None:
        self.of_window = ValueStateDescriptor("firings", Types.INT())
        self.of_key = MapStateDescriptor("firings", Types.INT(), Types.INT())

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        count = context.window_state().get_state(self.of_window)
        count.update((count.value() or 0) + 1)
        per_window = context.global_state().get_map_state(self.of_key)
        per_window.put(context.window().start, count.value())
        if sum(number for _, number in elements) < 5:
            context.output(SMALL, key)
            yield SMALL, "yielded"
        yield key, context.window().start, count.value(), dict(per_window.items()), context.current_processing_time()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.of_window).clear()
        context.output(SMALL, ("cleared", context.window().start))


def test_state_of_the_window_and_of_the_key_and_side_outputs(scenario: Any) -> None:
    run = scenario(lambda s: keyed(s).allowed_lateness(5).process(Firings()))
    run.clock(77)
    run.add((("a", 1), 1), (("a", 9), 11))
    assert run.watermark(9) == [(("a", 0, 1, {0: 1}, 77), 9)]
    assert run.late(SMALL) == [("a", 9), ("yielded", 9)]
    assert run.add((("a", 7), 2)).results() == [(("a", 0, 2, {0: 2}, 77), 9)]
    assert run.watermark(14) == []
    assert run.late(SMALL) == [(("cleared", 0), 9)]
    assert run.watermark(19) == [(("a", 10, 1, {0: 2, 10: 1}, 77), 19)]


class FiringsOfAll(ProcessAllWindowFunction):
    def __init__(self) -> None:
        self.count = ValueStateDescriptor("firings", Types.INT())

    def process(self, context: Any, elements: Any) -> Any:
        count = context.global_state().get_state(self.count)
        count.update((count.value() or 0) + 1)
        yield count.value()


def test_state_of_windows_without_keys(scenario: Any) -> None:
    run = scenario(lambda s: s.window_all(TEN).process(FiringsOfAll()))
    run.add((1, 1), (2, 11))
    assert run.end() == [(1, 9), (2, 19)]


def test_a_reduce_function_that_changes_its_argument_harms_no_other_window(scenario: Any) -> None:
    def merge(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
        first["n"] += second["n"]
        return first

    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda _: 0).window(SlidingEventTimeWindows.of("10 ms", "5 ms")).reduce(merge)

    run = scenario(build)
    run.add(({"n": 1}, 6), ({"n": 2}, 7), ({"n": 4}, 12))
    assert run.end() == [({"n": 3}, 9), ({"n": 7}, 14), ({"n": 4}, 19)]


def test_what_has_fired_does_not_change_any_more(scenario: Any) -> None:
    class Collect(AggregateFunction):
        def create_accumulator(self) -> Any:
            return []

        def add(self, value: Any, accumulator: Any) -> Any:
            accumulator.append(value)
            return accumulator

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a + acc_b

    def build(stream: DataStream) -> DataStream:
        return (
            stream.key_by(lambda _: 0).window(GlobalWindows.create()).trigger(CountTrigger.of(1)).aggregate(Collect())
        )

    run = scenario(build)
    run.add((1, None), (2, None))
    assert [value for value, _ in run.harness.output()] == [[1], [1, 2]]


def test_a_function_may_return_nothing(scenario: Any) -> None:
    class Silent(WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            return None

    run = scenario(lambda s: keyed(s).apply(Silent()))
    assert run.add(*RECORDS).end() == []


def test_a_failure_names_the_operator_the_key_and_the_timer(scenario: Any) -> None:
    class Fails(WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            raise ValueError("no such luck")

    run = scenario(lambda s: keyed(s).apply(Fails()).name("Luck"))
    run.add((("a", 1), 1))
    with pytest.raises(UserFunctionError, match="no such luck") as caught:
        run.watermark(9)
    report = caught.value.report
    assert (report.operator, report.key, report.record) == ("Luck", "'a'", "event-time timer at 9")


def test_typed_records_and_accumulators_keep_their_types(scenario: Any) -> None:
    class Total(AggregateFunction):
        def create_accumulator(self) -> Any:
            return 0

        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator + value[1]

        def get_result(self, accumulator: Any) -> int:
            return accumulator

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a + acc_b

    def build(stream: DataStream) -> DataStream:
        typed = stream.map(lambda pair: pair, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        sessions = typed.key_by(0).window(EventTimeSessionWindows.with_gap("5 ms"))
        result = sessions.aggregate(Total(), accumulator_type=Types.LONG())
        assert result.get_type() == Types.LONG()
        return result

    run = scenario(build)
    run.add((("a", 1), 1), (("a", 2), 9), (("a", 4), 5))
    assert run.end() == [(7, 13)]
