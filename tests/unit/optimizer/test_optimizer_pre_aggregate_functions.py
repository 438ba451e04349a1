"""Functions of windows, and aggregates that may fail, before the exchange: results, order and failures stay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.errors import JobExecutionException
from penstock.datastream import WindowedStream
from penstock.datastream.functions import AggregateFunction, combinable
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.execution.submit import plan_to_run
from penstock.expressions import col, count, sum_
from penstock.testing import ScriptedSource, record, watermark
from unit.optimizer.test_optimizer_pre_aggregate import (
    ASSIGNERS,
    TYPE,
    Applied,
    always_combines,
    environment,
    outcome,
    scripts_of,
)

__all__ = ["always_combines"]


class Totals(AggregateFunction):
    """The sum of `v`, and how many there were."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.v, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> str:
        return f"{accumulator[0]}/{accumulator[1]}"

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def _kept(one: Row, other: Row) -> Row:
    return Row(k=one.k, v=max(one.v, other.v), x=other.x, s=one.s)


@combinable
def _pooled(one: Row, other: Row) -> Row:
    return Row(k=one.k, v=one.v ^ other.v, x=0.5, s="".join(sorted(one.s + other.s))[:3])


FUNCTIONS: dict[str, Applied] = {
    "the sum, with the rest of the first": lambda windows: windows.sum("v"),
    "the greatest float, be it NaN": lambda windows: windows.max("x"),
    "the least text": lambda windows: windows.min("s"),
    "a reduce of first, last and greatest": lambda windows: windows.reduce(_kept),
    "an aggregate function": lambda windows: windows.aggregate(Totals(), output_type=Types.STRING()),
    "a function that is declared": lambda windows: windows.reduce(_pooled),
    "an expression": lambda windows: windows.aggregate(n=count(), whole=sum_(col("v") // 3)),
}

records = st.builds(
    lambda k, v, x, s, at: record(Row(k=k, v=v, x=x, s=s), at),
    st.sampled_from(("a", "b", "c")),
    st.integers(-(1 << 40), 1 << 40),
    st.sampled_from((0.0, -0.0, 0.5, float("nan"), float("inf"))),
    st.text("xyz", max_size=3),
    st.integers(0, 60),
)
scripts = scripts_of(records)


def is_combined(apply: Applied, mode: str = "STREAMING") -> bool:
    env = environment()
    env.configuration.set_string("execution.runtime-mode", mode)
    stream = env.from_source(ScriptedSource([], type_info=TYPE)).key_by("k")
    apply(stream.window(TumblingEventTimeWindows.of(10))).print()
    return any(edge.is_combined for edge in plan_to_run(env.get_plan(), env.configuration).edges)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_done(function: str) -> None:
    assert is_combined(FUNCTIONS[function])


def test_in_a_batch_the_first_is_the_earliest_wherever_it_is() -> None:
    assert not is_combined(FUNCTIONS["a reduce of first, last and greatest"], "BATCH")
    assert is_combined(FUNCTIONS["an aggregate function"], "BATCH")
    assert is_combined(FUNCTIONS["a function that is declared"], "BATCH")


@pytest.mark.usefixtures("always_combines")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(scripts, min_size=1, max_size=3), st.sampled_from(ASSIGNERS), st.sampled_from(sorted(FUNCTIONS)))
def test_windows_and_late_records_are_the_same(splits: list[list[Any]], window: Any, function: str) -> None:
    apply = FUNCTIONS[function]
    assert outcome("", splits, window, apply) == outcome("pre-aggregate", splits, window, apply)


def quotients(windows: WindowedStream) -> Any:
    return windows.aggregate(total=sum_(12 // col("v")))


def of(value: int, at: int) -> Any:
    return record(Row(k="a", v=value, x=0.0, s=""), at)


@pytest.mark.usefixtures("always_combines")
def test_a_late_record_fails_nothing() -> None:
    script = [of(3, 1), of(4, 2), watermark(30), of(0, 5), of(6, 31), of(2, 32)]
    expected = outcome("pre-aggregate", [script], SlidingEventTimeWindows.of(20, 10), quotients)
    assert expected[1] == 1
    assert outcome("", [script], SlidingEventTimeWindows.of(20, 10), quotients) == expected


@pytest.mark.usefixtures("always_combines")
@pytest.mark.parametrize("disabled", ["", "pre-aggregate"])
def test_a_record_that_fails_is_named(disabled: str) -> None:
    env = environment(disabled)
    env.configuration.set_string("restart-strategy.type", "none")
    source = ScriptedSource([of(3, 1), of(4, 2), of(0, 3), of(5, 4)], type_info=TYPE)
    windows = env.from_source(source).key_by("k").window(TumblingEventTimeWindows.of(10))
    quotients(windows).uid("windows").print()
    with pytest.raises(JobExecutionException, match="division by zero") as failure:
        env.execute()
    report = failure.value.report
    assert report is not None
    assert (report.uid, report.error_type) == ("windows", "ZeroDivisionError")
    assert "v=0" in (report.record or "")
