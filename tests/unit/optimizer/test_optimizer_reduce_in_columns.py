"""Which functions of windows are recognised, and what that changes: how results are made, not which."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, TypeInformation, Types, WatermarkStrategy
from penstock.common.errors import StateError
from penstock.common.typeinfo import DataclassTypeInfo, NamedTupleTypeInfo
from penstock.datastream import AggregateFunction, DataStream, RuntimeExecutionMode
from penstock.datastream.functions import ProcessWindowFunction
from penstock.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.execution.submit import plan_to_run
from penstock.expressions import count
from penstock.plan.window_node import WindowNode
from penstock.runtime.window_operators import record_operator
from penstock.testing import Harness, harness, local_environment
from penstock.tracing import NotTraceable, trace_reduction
from penstock.windows.definition import WindowDefinition

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
ROW = Types.ROW_NAMED(["k", "n", "x"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
TEN = TumblingEventTimeWindows.of(10)
Program = Callable[[Any], DataStream]


class Reading(NamedTuple):
    sensor: str
    value: int


@dataclass
class Payment:
    card: str
    cents: int


READING = NamedTupleTypeInfo(Reading, ["sensor", "value"], [Types.STRING(), Types.LONG()])
PAYMENT = DataclassTypeInfo(Payment, ["card", "cents"], [Types.STRING(), Types.LONG()])


class Sum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class FromOne(Sum):
    def create_accumulator(self) -> Any:
        return 1


class Doubling(Sum):
    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + accumulator + value[1]


class Listed(Sum):
    def create_accumulator(self) -> Any:
        return [0]


def add_pairs(a: tuple[str, int], b: tuple[str, int]) -> tuple[str, int]:
    return a[0], a[1] + b[1]


@pytest.mark.parametrize(
    ("function", "record_type", "fields"),
    [
        (add_pairs, PAIR, "f0=first, f1=sum"),
        (lambda a, b: (b[0], b[1] + a[1]), PAIR, "f0=last, f1=sum"),
        (lambda a, b: (min(a[0], b[0]), max(b[1], a[1])), PAIR, "f0=min, f1=max"),
        (lambda a, b: b, PAIR, "f0=last, f1=last"),
        (lambda a, b: a + b, Types.LONG(), "value=sum"),
        (lambda a, b: Row(k=a.k, n=a["n"] + b[1], x=max(a.x, b.x)), ROW, "k=first, n=sum, x=max"),
        (lambda a, b: Reading(a.sensor, max(a.value, b.value)), READING, "sensor=first, value=max"),
        (lambda a, b: Payment(b.card, a.cents + b.cents), PAYMENT, "card=last, cents=sum"),
    ],
)
def test_recognised(function: Any, record_type: TypeInformation, fields: str) -> None:
    assert str(trace_reduction(function, record_type)) == fields


@pytest.mark.parametrize(
    ("function", "record_type", "reason"),
    [
        (lambda a, b: (a[0], a[1] - b[1]), PAIR, "no sum, least or greatest"),
        (lambda a, b: (a[0], a[1] + b[1] + 1), PAIR, "no sum, least or greatest"),
        (lambda a, b: (a[0], a[1] * b[1]), PAIR, "no sum, least or greatest"),
        (lambda a, b: (a[0] + b[0], a[1]), PAIR, "no sum, least or greatest"),
        (lambda a, b: (a[0], a[1] + a[1]), PAIR, "no sum, least or greatest"),
        (lambda a, b: (a[0], 7), PAIR, "no sum, least or greatest"),
        (lambda a, b: a if a[1] > b[1] else b, PAIR, "not made field by field"),
        (lambda a, b: [a[0], a[1] + b[1]], PAIR, "makes a list"),
        (lambda a, b: (a[0], a[1] + b[1], 1), PAIR, "no record of the type"),
        (lambda a, b: Row(a.k, a.n + b.n, a.x), ROW, "no record of the type"),
        (lambda a, b: Row(k=a.k, n=a.n, x=a.x - b.x), ROW, "no sum, least or greatest"),
        (lambda a, b: Row(k=a.k, n=a.n, x=min(b.x, a.x)), ROW, "no sum, least or greatest"),
        (lambda a, b: a + b, Types.PICKLED_BYTE_ARRAY(), "no declared type"),
        (lambda a: a, PAIR, "other arguments"),
    ],
)
def test_not_recognised(function: Any, record_type: TypeInformation, reason: str) -> None:
    with pytest.raises(NotTraceable, match=reason):
        trace_reduction(function, record_type)


def definition_of(build: Program, record_type: TypeInformation = PAIR) -> WindowDefinition:
    env = local_environment()
    build(env.from_collection([], record_type)).print()
    plan = plan_to_run(env.get_plan("job"), env.configuration)
    (node,) = (node for node in plan.nodes if isinstance(node, WindowNode))
    return node.window


@pytest.mark.parametrize(
    ("build", "shown"),
    [
        (lambda s: s.key_by(0).window(TEN).sum(1), "f0=same, f1=sum, in columns"),
        (lambda s: s.key_by(lambda r: r[0]).window(TEN).max(1), "f0=same, f1=max, in columns"),
        (lambda s: s.key_by(lambda r: r[1] % 2).window(TEN).min(0), "f0=min, f1=first, in columns"),
        (lambda s: s.key_by(0).window(EventTimeSessionWindows.with_gap(5)).reduce(add_pairs), "f1=sum, in columns"),
        (lambda s: s.key_by(0).window(SlidingEventTimeWindows.of(20, 10)).reduce(add_pairs), "f1=sum, in columns"),
        (lambda s: s.key_by(0).window(TumblingProcessingTimeWindows.of(10)).sum(1), "f1=sum, in columns"),
        (lambda s: s.window_all(TEN).sum(1), "f0=first, f1=sum, in columns"),
        (lambda s: s.key_by(0).window(TEN).aggregate(Sum()), "sum of value[1], in columns"),
    ],
)
def test_windows_in_columns(build: Program, shown: str) -> None:
    definition = definition_of(build)
    assert definition.is_columnar
    assert shown in str(definition)


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.key_by(0).window(TEN).allowed_lateness(5).sum(1),
        lambda s: s.key_by(0).window(TEN).evictor(CountEvictor.of(3)).sum(1),
        lambda s: s.key_by(0).window(EventTimeSessionWindows.with_dynamic_gap(lambda r: 5)).sum(1),
        lambda s: s.key_by(0).window(TEN).max_by(1),
        lambda s: s.key_by(0).window(TEN).aggregate(FromOne()),
        lambda s: s.key_by(0).window(TEN).aggregate(Doubling()),
        lambda s: s.key_by(0).window(TEN).aggregate(Listed()),
        lambda s: s.key_by(0).window(TEN).reduce(add_pairs, output_type=Types.TUPLE([Types.STRING(), Types.INT()])),
    ],
)
def test_windows_record_by_record(build: Program) -> None:
    definition = definition_of(build)
    assert not definition.is_columnar
    assert (definition.reduction, definition.accumulation) == (None, None)
    assert record_operator(definition) is not None


def line_of(function: Callable[..., Any]) -> str:
    code = function.__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def unlike_sums(a: Any, b: Any) -> Any:
    return a[0], a[1] - b[1]


def talkative(a: Any, b: Any) -> Any:
    print(a)
    return b


class Kept(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return elements


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (
            lambda windows: windows.reduce(unlike_sums),
            f"`a[1] - b[1]` is no sum, least or greatest of this field alone at {line_of(unlike_sums)}",
        ),
        (lambda windows: windows.reduce(talkative), "it calls print, which is not known to be pure at "),
        (
            lambda windows: windows.aggregate(FromOne()),
            f"the accumulator begins with `1`, not with zeros at {line_of(FromOne.create_accumulator)}",
        ),
        (
            lambda windows: windows.aggregate(Doubling()),
            f"does not add something to `accumulator` at {line_of(Doubling.add)}",
        ),
        (lambda windows: windows.max_by(1), "max_by keeps whole records at "),
        (lambda windows: windows.allowed_lateness(5).sum(1), "windows with allowed lateness fire again at "),
        (lambda windows: windows.evictor(CountEvictor.of(3)).sum(1), "an evictor sees the records at "),
        (lambda windows: windows.reduce(add_pairs, Kept()), "a window function is called with the results at "),
        (
            lambda windows: windows.reduce(add_pairs, output_type=Types.TUPLE([Types.STRING(), Types.INT()])),
            "the results have another type than the records at ",
        ),
    ],
)
def test_windows_that_are_not_in_columns_say_why(build: Program, reason: str) -> None:
    env = local_environment()
    build(env.from_collection([("a", 1)], PAIR).key_by(0).window(TEN)).print()
    (line,) = (line for line in env.explain().splitlines() if "Window '" in line)
    _, _, told = line.partition(" | not in columns: ")
    assert reason in told
    assert re.search(rf" at {Path(__file__).name}:\d+$", told), "with the user's line"


def test_windows_in_columns_and_those_of_all_records_say_nothing() -> None:
    env = local_environment()
    windows = env.from_collection([("a", 1)], PAIR).key_by(0).window(TEN)
    windows.reduce(add_pairs).print()
    windows.process(Kept()).print()
    assert "not in columns" not in env.explain()


@pytest.mark.parametrize(
    ("assigner", "is_columnar"),
    [(TEN, True), (SlidingEventTimeWindows.of(20, 10), False), (EventTimeSessionWindows.with_gap(5), False)],
    ids=repr,
)
def test_sums_of_floats_are_columns_where_that_keeps_the_order_of_arrival(assigner: Any, is_columnar: bool) -> None:
    assert definition_of(lambda s: s.key_by("k").window(assigner).sum("x"), ROW).is_columnar is is_columnar


@pytest.mark.parametrize(
    ("function", "is_columnar"),
    [
        (lambda a, b: Row(k=a.k, n=a.n + b.n, x=a.x), False),
        (lambda a, b: Row(k=a.k, n=b.n, x=a.x), False),
        (lambda a, b: Row(k=a.k, n=a.n + b.n, x=max(a.x, b.x)), False),
        (lambda a, b: Row(k=b.k, n=max(a.n, b.n)), True),
    ],
    ids=["first", "last", "greatest float", "of any order"],
)
def test_sessions_are_columns_where_the_order_in_which_they_merge_makes_no_difference(
    function: Any, is_columnar: bool
) -> None:
    record_type = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()]) if is_columnar else ROW
    sessions = EventTimeSessionWindows.with_gap(5)
    assert (
        definition_of(lambda s: s.key_by("k").window(sessions).reduce(function), record_type).is_columnar is is_columnar
    )


@given(st.lists(st.floats(allow_nan=False) | st.just("epoch") | st.just("watermark"), max_size=60))
@settings(max_examples=50, deadline=None)
def test_sums_of_floats_are_those_of_the_order_of_arrival(steps: list[Any]) -> None:
    test = harness(lambda s: s.key_by("k").window(TEN).sum("x"), ROW)
    total: float | None = None
    for number, step in enumerate(steps):
        if step == "epoch":
            test.restore(test.snapshot())
        elif step == "watermark":
            test.process_watermark(-(10**6) + number)
        else:
            total = step if total is None else total + step
            test.process_element(Row(k="a", n=1, x=step), number % 10)
    test.process_watermark(10)
    assert [repr(row.x) for row, _ in test.output()] == ([] if total is None else [repr(total)])


@pytest.mark.parametrize(("values", "total"), [([-0.0], "-0.0"), ([-0.0, -0.0], "-0.0"), ([-0.0, 0.0], "0.0")])
def test_a_sum_begins_with_the_first_value(values: list[float], total: str) -> None:
    test = harness(lambda s: s.key_by("k").window(TEN).sum("x"), ROW)
    for key in ("a", "b"):
        for value in values if key == "a" else (1.5, -1.5):
            test.process_element(Row(k=key, n=1, x=value), 1)
    test.process_watermark(10)
    assert {row.k: repr(row.x) for row, _ in test.output()} == {"a": total, "b": "0.0"}


def test_without_the_rule() -> None:
    configuration = Configuration()
    configuration.set_string("optimizer.disabled-rules", "reduce-in-columns")
    env = local_environment(configuration)
    env.from_collection([("a", 1)], PAIR).key_by(0).window(TEN).sum(1).print()
    assert "in columns" not in env.explain()
    assert "recognised" not in env.explain()
    assert "not in columns" not in env.explain()


@pytest.mark.parametrize(
    ("build", "is_columnar"),
    [
        (lambda windows: windows.reduce(add_pairs), False),
        (lambda windows: windows.aggregate(Sum()), False),
        (lambda windows: windows.sum(1), True),
        (lambda windows: windows.aggregate(n=count()), True),
    ],
)
def test_where_functions_are_not_traced_only_names_are_known(build: Program, is_columnar: bool) -> None:
    env = local_environment(Configuration().set_string("optimizer.disabled-rules", "trace-functions"))
    build(env.from_collection([("a", 1)], PAIR).key_by(0).window(TEN)).print()
    plan = plan_to_run(env.get_plan("job"), env.configuration)
    (node,) = (node for node in plan.nodes if isinstance(node, WindowNode))
    assert node.window.is_columnar is is_columnar
    assert "not in columns" not in env.explain()


def test_none_cannot_be_combined() -> None:
    test = harness(lambda s: s.key_by(0).window(TEN).sum(1), PAIR)
    test.process_element(("a", None), 1)
    test.process_element(("b", None), 1)
    test.process_element(("b", 1), 2)
    with pytest.raises(Exception, match="'f1' of a record is None, which cannot be combined with another"):
        test.process_watermark(10)


def test_a_field_that_is_too_small_for_the_sum() -> None:
    small = Types.TUPLE([Types.STRING(), Types.BYTE()])
    test = harness(lambda s: s.key_by(0).window(TEN).sum(1), small)
    test.process_element(("a", 100), 1)
    test.process_element(("a", 100), 1)
    with pytest.raises(Exception, match="does not fit into a field of the type int8"):
        test.process_watermark(10)


def test_a_function_that_fails() -> None:
    class Wrong(Sum):
        def get_result(self, accumulator: Any) -> Any:
            return 1 // accumulator

    test = harness(lambda s: s.key_by(0).window(TEN).aggregate(Wrong()), PAIR)
    test.process_element(("a", 0), 1)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        test.process_watermark(10)


def test_what_columns_cannot_say_the_function_is_asked_for() -> None:
    class Lengths(Sum):
        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator + 2**62 // value[1]

    test = harness(lambda s: s.key_by(0).window(TEN).aggregate(Lengths()), PAIR)
    test.process_element(("a", 4), 1)
    test.process_watermark(10)
    assert test.output() == [(2**60, 9)]
    with pytest.raises(Exception, match="ZeroDivisionError") as failure:
        test.process_element(("a", 0), 11)
    assert "During handling of the above exception" not in str(failure.value)


def test_in_a_batch_the_first_is_the_earliest() -> None:
    def run(disabled: str) -> list[Any]:
        configuration = Configuration()
        configuration.set_string("optimizer.disabled-rules", disabled)
        env = local_environment(configuration, parallelism=2).set_runtime_mode(RuntimeExecutionMode.BATCH)
        kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
        stamped = env.from_collection(
            [("a", 1, 8), ("a", 2, 3), ("b", 5, 4), ("a", 4, 3), ("b", 1, 6)], kind
        ).assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[2])
        )
        sums = stamped.key_by(lambda r: r[0]).window(SlidingEventTimeWindows.of(10, 5)).sum(1)
        return sorted(sums.execute_and_collect())

    assert run("") == run("reduce-in-columns")


def restored(after: Harness, before: Harness) -> None:
    after.restore(before.snapshot())
    after.process_element(("a", 1), 2)


def windows_of(assigner: Any, lateness: int, make: Callable[[Any], DataStream]) -> Program:
    return lambda s: make(s.key_by(0).window(assigner).allowed_lateness(lateness)).uid("windows")


@pytest.mark.parametrize("assigner", [TEN, EventTimeSessionWindows.with_gap(10)], ids=repr)
@pytest.mark.parametrize(
    ("make", "result"),
    [(lambda windows: windows.sum(1), ("a", 7)), (lambda windows: windows.aggregate(Sum()), 7)],
    ids=["reduce", "aggregate"],
)
def test_open_windows_of_records_go_on_in_columns(assigner: Any, make: Any, result: Any) -> None:
    before = harness(windows_of(assigner, 5, make), PAIR, parallelism=2)
    after = harness(windows_of(assigner, 0, make), PAIR)
    before.process_element(("a", 1), 1)
    before.process_element(("b", 1), 1)
    before.process_element(("a", 2), 2)
    after.restore(before.snapshot())
    after.restore(after.snapshot())
    after.process_element(("a", 4), 3)
    after.process_watermark(20)
    assert result in [value for value, _ in after.output()]
    after.restore(after.snapshot())
    assert after.output() == []
    stored = [key for found in after.snapshot().entries.values() for key, _ in found]
    assert not [key for key in stored if not key.startswith(b"\x00gate") and key[8:12] != b"\0cat"]


def test_open_windows_that_overlap_do_not_go_on_in_columns() -> None:
    sliding = SlidingEventTimeWindows.of(10, 5)
    before, after = (harness(windows_of(sliding, each, lambda windows: windows.sum(1)), PAIR) for each in (5, 0))
    before.process_element(("a", 1), 1)
    with pytest.raises(StateError, match="the program computes them in columns, but they overlap"):
        restored(after, before)


def test_open_windows_with_other_aggregates_are_refused() -> None:
    test = harness(lambda s: s.key_by(0).window(TEN).sum(1).uid("sums"), PAIR)
    test.process_element(("a", 1), 1)
    changed = harness(lambda s: s.key_by(0).window(TEN).max(1).uid("sums"), PAIR)
    with pytest.raises(StateError, match=r"its open windows have ColumnarWindows.*sum int64.*max int64"):
        restored(changed, test)
