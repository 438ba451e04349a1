"""Where records go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from conformance.one_job import LOCAL, SPARK, collect_each
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import MapFunction, Partitioner, RuntimeContext
from penstock.expressions import col

Placed = list[tuple[int, Any]]
"""Records, each after the number of the subtask that got it."""


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> tuple[int, Any]:
        return self.subtask, value


class Modulo(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


def placed(stream: DataStream, parallelism: int = 3) -> DataStream:
    return stream.map(WithSubtask()).set_parallelism(parallelism)


def nothing_lost_or_doubled(results: Placed) -> None:
    assert Counter(value for _, value in results) == Counter(range(1, 301))


def spread_evenly(results: Placed) -> None:
    assert Counter(subtask for subtask, _ in results) == {0: 30, 1: 30, 2: 30}


def in_all_subtasks(results: Placed) -> None:
    assert {subtask for subtask, _ in results} == {0, 1, 2}


def in_the_first_subtask(results: Placed) -> None:
    assert {subtask for subtask, _ in results} == {0}


def every_record_in_every_subtask(results: Placed) -> None:
    assert Counter(results) == Counter((subtask, value) for subtask in range(3) for value in (5, 6))


def where_they_were(results: Placed) -> None:
    assert len(results) == 40
    assert all(before == after for after, (before, _) in results)


def where_the_partitioner_says(results: Placed) -> None:
    assert Counter(results) == Counter((n % 3, (n, "x")) for n in range(30))


def each_key_in_one_subtask(results: Placed) -> None:
    assert Counter(value for _, value in results) == Counter(range(300))
    places = {key: {subtask for subtask, value in results if value % 20 == key} for key in range(20)}
    assert all(len(subtasks) == 1 for subtasks in places.values())
    assert len(set().union(*places.values())) > 1


class Scenario(NamedTuple):
    build: Callable[[StreamExecutionEnvironment], DataStream]
    check: Callable[[Placed], None]


def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([(n, "x") for n in range(30)])


def numbers(env: StreamExecutionEnvironment, count: int) -> DataStream:
    return env.from_collection(list(range(count)))


SCENARIOS = {
    "rebalance": Scenario(lambda env: placed(env.from_sequence(1, 300).rebalance()), nothing_lost_or_doubled),
    "rescale": Scenario(lambda env: placed(env.from_sequence(1, 300).rescale()), nothing_lost_or_doubled),
    "shuffle": Scenario(lambda env: placed(env.from_sequence(1, 300).shuffle()), nothing_lost_or_doubled),
    "global": Scenario(lambda env: placed(env.from_sequence(1, 300).global_()), nothing_lost_or_doubled),
    "rebalance spreads": Scenario(lambda env: placed(numbers(env, 90).rebalance()), spread_evenly),
    "shuffle spreads": Scenario(lambda env: placed(numbers(env, 300).shuffle()), in_all_subtasks),
    "global is the first": Scenario(lambda env: placed(env.from_sequence(1, 50).global_()), in_the_first_subtask),
    "broadcast": Scenario(lambda env: placed(env.from_collection([5, 6]).broadcast()), every_record_in_every_subtask),
    "forward": Scenario(
        lambda env: placed(numbers(env, 40).rebalance().map(WithSubtask()).forward(), 2), where_they_were
    ),
    "a partitioner": Scenario(
        lambda env: placed(pairs(env).partition_custom(Modulo(), lambda r: r[0])), where_the_partitioner_says
    ),
    "a partitioner's lambda": Scenario(
        lambda env: placed(pairs(env).partition_custom(lambda key, n: key % n, lambda r: r[0])),
        where_the_partitioner_says,
    ),
    "a partitioner of an expression": Scenario(
        lambda env: placed(pairs(env).partition_custom(lambda key, n: key % n, col(0) + 3)), where_the_partitioner_says
    ),
    "by key": Scenario(
        lambda env: placed(env.from_sequence(0, 299).key_by(lambda n: n % 20)),
        each_key_in_one_subtask,
    ),
}


@pytest.mark.parametrize("engine_and_mode", LOCAL)
@pytest.mark.parametrize("name", SCENARIOS)
def test_records_go_where_they_are_sent(env: StreamExecutionEnvironment, name: str) -> None:
    scenario = SCENARIOS[name]
    scenario.check(list(scenario.build(env).execute_and_collect()))


@pytest.mark.parametrize("engine_and_mode", SPARK)
def test_records_go_where_they_are_sent_on_spark(env: StreamExecutionEnvironment) -> None:
    results = collect_each(env, {name: scenario.build(env) for name, scenario in SCENARIOS.items()})
    for name, scenario in SCENARIOS.items():
        scenario.check(results[name])


def test_rescale_keeps_the_shares_of_two_senders_apart(env: StreamExecutionEnvironment) -> None:
    """Alone in its job: there both senders have something to send."""
    numbered = env.from_sequence(1, 200).set_parallelism(2).map(WithSubtask()).set_parallelism(2)
    results = list(placed(numbered.rescale(), 4).execute_and_collect())
    receivers = {sender: {receiver for receiver, (s, _) in results if s == sender} for sender in (0, 1)}
    assert receivers == {0: {0, 1}, 1: {2, 3}}


@pytest.mark.parametrize("engine_and_mode", LOCAL)
def test_a_source_has_its_own_subtasks_however_many_another_has(env: StreamExecutionEnvironment) -> None:
    def sent_from(first: int, last: int, parallelism: int) -> DataStream:
        numbers = env.from_sequence(first, last).set_parallelism(parallelism)
        return numbers.map(WithSubtask()).set_parallelism(parallelism)

    results = list(sent_from(1, 900, 1).union(sent_from(901, 1000, 2), sent_from(1001, 1100, 4)).execute_and_collect())
    assert {subtask for subtask, value in results if value <= 900} == {0}
    assert {subtask for subtask, value in results if 900 < value <= 1000} <= {0, 1}
