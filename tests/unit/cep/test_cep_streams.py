"""Patterns on streams: keys, time, side outputs, expressions, patterns that change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from penstock.cep import (
    CEP,
    MatchMeasures,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternStream,
    PatternTimeoutFunction,
    RowsPerMatch,
)
from penstock.common import Configuration, Row, Types
from penstock.common.errors import ArgumentError, JobExecutionException, PlanError
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from penstock.expressions import col
from penstock.testing import harness

PAYMENT = Types.ROW_NAMED(["card", "amount"], [Types.STRING(), Types.DOUBLE()])
LATE, TIMED_OUT = OutputTag("late"), OutputTag("timed out", Types.STRING())


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def small_then_large() -> Pattern:
    return (
        Pattern.begin("small").where(col("amount") < 1.0).followed_by("large").where(col("amount") > 500.0).within(10)
    )


def amounts(match: Any) -> str:
    return " ".join(f"{name}={','.join(str(event.amount) for event in events)}" for name, events in match.items())


class Amounts(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[str]:
        yield f"{ctx.get_current_key()} {ctx.timestamp()} {amounts(match)}"

    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> None:
        ctx.output(TIMED_OUT, f"{ctx.timestamp()} {amounts(match)}")


def payments(test: Any, *records: tuple[str, float, int]) -> None:
    for card, amount, time in records:
        test.process_element(Row(card=card, amount=amount), time)


def test_expressions_are_computed_before_the_pattern_sees_an_event() -> None:
    def build(stream: DataStream) -> DataStream:
        found = CEP.pattern(stream.key_by("card"), small_then_large()).side_output_late_data(LATE)
        return found.process(Amounts(), Types.STRING())

    test = harness(build, PAYMENT, parallelism=2)
    payments(test, ("a", 0.5, 1), ("b", 600.0, 2), ("a", 700.0, 4), ("b", 0.1, 5), ("a", 0.2, 3))
    test.process_watermark(4)
    # The second small payment is older than the large one, and each has a match of its own.
    assert test.output() == [("a 4 small=0.5 large=700.0", 4), ("a 4 small=0.2 large=700.0", 4)]
    payments(test, ("a", 0.1, 2))
    assert test.side_output(LATE) == [(Row(card="a", amount=0.1), 2)]
    test.close()
    assert test.side_output(TIMED_OUT) == [("15 small=0.1", 15)]


def test_a_condition_that_is_none_is_not_met() -> None:
    pattern = Pattern.begin("a").where(col("amount") > 1.0).next("b").where(~(col("amount") > 1.0))
    test = harness(lambda stream: CEP.pattern(stream, pattern).select(amounts), PAYMENT)
    for time, amount in enumerate([2.0, None, 2.0, 0.5]):
        test.process_element(Row(card="a", amount=amount), time)
    test.close()
    # `not (None > 1.0)` is None, and so no condition that holds.
    assert [value for value, _ in test.output()] == ["a=2.0 b=0.5"]


def test_a_stream_without_keys_is_searched_as_a_whole() -> None:
    pattern = Pattern.begin("a").where(lambda n: n == 1).next("b").where(lambda n: n == 2)
    test = harness(lambda stream: CEP.pattern(stream, pattern).select(lambda m: m["a"] + m["b"]), parallelism=3)
    for time, number in enumerate([1, 2, 2, 1, 2]):
        test.process_element(number, time)
    test.close()
    assert [value for value, _ in test.output()] == [[1, 2], [1, 2]]


class First(PatternSelectFunction):
    def select(self, pattern: Any) -> str:
        return f"match {pattern['a'][0]}"


class Alone(PatternTimeoutFunction):
    def timeout(self, pattern: Any, timeout_timestamp: int) -> str:
        return f"alone {pattern['a'][0]} until {timeout_timestamp}"


class All(PatternFlatSelectFunction):
    def flat_select(self, pattern: Any) -> Iterable[str]:
        yield from (f"event {event}" for events in pattern.values() for event in events)


class AllAlone(PatternFlatTimeoutFunction):
    def timeout(self, pattern: Any, timeout_timestamp: int) -> Iterable[str]:
        yield from (f"alone {event}" for events in pattern.values() for event in events)


def test_select_and_flat_select_and_what_ran_out_of_time() -> None:
    pattern = Pattern.begin("a").where(lambda n: n % 2 == 1).next("b").where(lambda n: n % 2 == 0).within(10)

    def run(build: Any) -> tuple[list[Any], list[Any]]:
        test = harness(lambda stream: build(CEP.pattern(stream, pattern)))
        for time, number in [(1, 1), (2, 2), (30, 3)]:
            test.process_element(number, time)
        test.close()
        return [value for value, _ in test.output()], [value for value, _ in test.side_output(TIMED_OUT)]

    selected = run(lambda p: p.select(First(), Types.STRING(), timed_out_tag=TIMED_OUT, timeout_function=Alone()))
    assert selected == (["match 1"], ["alone 3 until 40"])
    flat = run(lambda p: p.flat_select(All(), timed_out_tag=TIMED_OUT, timeout_function=AllAlone()))
    assert flat == (["event 1", "event 2"], ["alone 3"])
    plain = run(lambda p: p.flat_select(lambda match: [len(match)]))
    assert plain == ([2], [])


def test_measures_make_one_row_of_a_match_or_one_of_each_event() -> None:
    pattern = Pattern.begin("up").where(lambda n: n > 0).times(2).next("down").where(lambda n: n < 0)
    measures = {"ups": lambda match: len(match.get("up", [])), "last": lambda match: next(reversed(match.values()))[-1]}

    def run(function: MatchMeasures) -> list[Row]:
        test = harness(lambda stream: CEP.pattern(stream.key_by(abs), pattern).process(function))
        for time, number in enumerate([5, 5, -5]):
            test.process_element(number, time)
        test.close()
        return [value for value, _ in test.output()]

    assert run(MatchMeasures(measures, key_names=("size",))) == [Row(size=5, ups=2, last=-5)]
    rows = run(MatchMeasures(measures, RowsPerMatch.ALL, fields_of=lambda event: {"event": event}))
    assert rows == [Row(event=5, ups=1, last=5), Row(event=5, ups=2, last=5), Row(event=-5, ups=2, last=-5)]


def change(pattern_id: str, first: float | None, second: float = 0.0) -> str:
    """A change of patterns as JSON: amounts above `first`, then above `second`."""
    if first is None:
        return json.dumps({"id": pattern_id, "pattern": None})
    steps = [
        {"begin": "one", "where": {"field": "amount", "op": ">", "value": first}},
        {"next": "two", "where": {"field": "amount", "op": ">", "value": second}},
    ]
    return json.dumps({"id": pattern_id, "pattern": {"steps": steps}})


class WithId(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[str]:
        yield f"{ctx.pattern_id()}: {amounts(match)}"


@pytest.mark.parametrize("restarts", [False, True])
def test_patterns_come_change_and_go_while_the_job_runs(restarts: bool) -> None:
    def build(stream: DataStream, updates: DataStream) -> DataStream:
        return CEP.changing_patterns(stream.key_by("card"), updates).process(WithId(), Types.STRING())

    test = harness(build, PAYMENT, Types.STRING())

    def step(watermark: int | None, *updates: str, **records: Any) -> list[str]:
        for update in updates:
            test.process_element2(update)
        for time, amount in records.items():
            test.process_element(Row(card="a", amount=amount), int(time[1:]))
        if watermark is not None:
            test.process_watermark(watermark)
        if restarts:
            test.restore(test.snapshot())
        return [value for value, _ in test.output()]

    assert step(1, t1=5.0) == []
    assert step(2, change("low", 1.0, 2.0), t2=5.0) == []
    assert step(3, change("high", 100.0, 200.0), t3=300.0) == ["low: one=5.0 two=300.0"]
    # Said again, a pattern goes on; changed, it begins anew, for events that wait too.
    assert step(None, change("high", 100.0, 200.0), t4=400.0) == []
    assert step(4, change("low", 1000.0)) == ["high: one=300.0 two=400.0"]
    assert step(6, change("high", None), t5=2000.0, t6=1.0) == ["low: one=2000.0 two=1.0"]
    # Events that came before a pattern did, and still wait for event time, count for it.
    assert step(None, t7=-5.0, t8=-4.0) == []
    assert step(8, change("new", -6.0, -5.0)) == ["new: one=-5.0 two=-4.0"]


def test_a_change_that_is_no_pattern_fails_the_job_and_says_why(env: StreamExecutionEnvironment) -> None:
    events = env.from_collection([Row(card="a", amount=1.0)], PAYMENT)
    updates = env.from_collection([json.dumps({"id": "x", "pattern": {"steps": [{"begin": "a", "were": 1}]}})])
    found = CEP.changing_patterns(events.key_by("card"), updates).in_processing_time().process(WithId())
    with pytest.raises(JobExecutionException, match="has 'were'; known are"):
        list(found.execute_and_collect())


def test_the_limit_of_partial_matches_is_an_option_and_a_setting(env: StreamExecutionEnvironment) -> None:
    pattern = Pattern.begin("a").one_or_more().allow_combinations().next("b").where(lambda n: n == 0)
    stream = CEP.pattern(env.from_collection(range(1, 20)), pattern).in_processing_time()
    with pytest.raises(JobExecutionException, match=r"10000 are allowed"):
        list(stream.select(len).execute_and_collect())
    with pytest.raises(JobExecutionException, match=r"7 are allowed"):
        list(stream.max_partial_matches(7).select(len).execute_and_collect())


def test_what_does_not_fit_is_refused_with_the_line(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([Row(card="a", amount=1.0)], PAYMENT)
    pattern = Pattern.begin("a").where(col("amout") > 1)
    with pytest.raises(PlanError, match=r"amout.*\n  at .*test_cep_streams"):
        CEP.pattern(stream, pattern)
    with pytest.raises(PlanError, match="expected a condition"):
        CEP.pattern(stream, Pattern.begin("a").where(col("amount") + 1))
    with pytest.raises(PlanError, match="declared type"):
        CEP.pattern(env.from_collection([object()]), Pattern.begin("a").where(col("amount") > 1))
    good = CEP.pattern(stream, Pattern.begin("a"))
    for refused in (
        lambda: CEP.pattern(stream, "a"),
        lambda: CEP.pattern(stream, Pattern.begin("a"), comparator=3),
        lambda: good.process(lambda match, ctx: None),
        lambda: good.process(Amounts),
        lambda: good.select(Alone()),
        lambda: good.max_partial_matches(0),
        lambda: good.side_output_late_data("late"),
    ):
        with pytest.raises(ArgumentError, match=r"test_cep_streams"):
            refused()
    with pytest.raises(PlanError, match="belong together"):
        good.select(len, timed_out_tag=TIMED_OUT)
    with pytest.raises(PlanError, match="leave the type out"):
        good.side_output_near_misses(TIMED_OUT)


def test_the_plan_shows_the_operator(env: StreamExecutionEnvironment) -> None:
    found: PatternStream = CEP.pattern(env.from_collection([1]).key_by(lambda n: n), Pattern.begin("a"))
    found.select(len).print()
    assert "Cep 'CepOperator'" in env.explain()
