"""`reduce` and the aggregations over a field: an update per record; as batch, one result per key."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from conformance.one_job import LOCAL, SPARK, collect_each
from penstock.common import Row, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import ReduceFunction

PAIRS = [("a", 3), ("b", 7), ("a", -1), ("a", 10), ("b", 7), ("b", 1)]
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Longest(ReduceFunction):
    def reduce(self, value1: str, value2: str) -> str:
        return max(value1, value2, key=len)


def last_per_key(results: list[Any]) -> dict[Any, Any]:
    return {result[0]: result for result in results}


def test_a_reduce_function_as_an_object(env: StreamExecutionEnvironment, mode: str) -> None:
    words = ["sea", "ocean", "sky", "star", "owl"]
    env.set_parallelism(1)
    results = list(
        env.from_collection(words, Types.STRING()).key_by(lambda w: w[0]).reduce(Longest()).execute_and_collect()
    )
    updates = ["sea", "sea", "star", "ocean", "ocean"]
    assert Counter(results) == Counter(["star", "ocean"] if mode == "BATCH" else updates)


UPDATES = {
    "sum": [("a", 3), ("a", 2), ("a", 12), ("b", 7), ("b", 14), ("b", 15)],
    "min": [("a", 3), ("a", -1), ("a", -1), ("b", 7), ("b", 7), ("b", 1)],
    "max": [("a", 3), ("a", 3), ("a", 10), ("b", 7), ("b", 7), ("b", 7)],
    "min_by": [("a", 3), ("a", -1), ("a", -1), ("b", 7), ("b", 7), ("b", 1)],
    "max_by": [("a", 3), ("a", 3), ("a", 10), ("b", 7), ("b", 7), ("b", 7)],
}


def aggregated(env: StreamExecutionEnvironment, method: str) -> DataStream:
    return getattr(env.from_collection(PAIRS, PAIR).key_by("f0"), method)(1)


def right_results(method: str, mode: str) -> Counter[tuple[str, int]]:
    return Counter(last_per_key(UPDATES[method]).values() if mode == "BATCH" else UPDATES[method])


@pytest.mark.parametrize("engine_and_mode", LOCAL)
@pytest.mark.parametrize("method", UPDATES)
def test_an_aggregation_emits_an_update_per_record_or_as_batch_the_last(
    env: StreamExecutionEnvironment, mode: str, method: str
) -> None:
    assert Counter(aggregated(env, method).execute_and_collect()) == right_results(method, mode)


@pytest.mark.parametrize("engine_and_mode", SPARK)
def test_aggregations_on_spark(env: StreamExecutionEnvironment, mode: str) -> None:
    results = collect_each(env, {method: aggregated(env, method) for method in UPDATES})
    for method in UPDATES:
        assert Counter(results[method]) == right_results(method, mode), method


def test_a_sum_over_rows_by_name(env: StreamExecutionEnvironment, mode: str) -> None:
    row_type = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.LONG()])
    rows = [Row(name=name, amount=amount) for name, amount in PAIRS]
    results = list(env.from_collection(rows, row_type).key_by("name").sum("amount").execute_and_collect())
    expected = [("a", 3), ("a", 2), ("a", 12), ("b", 7), ("b", 14), ("b", 15)]
    if mode == "BATCH":
        expected = [("a", 12), ("b", 15)]
    assert Counter((row.name, row.amount) for row in results) == Counter(expected)


def test_a_sum_over_plain_numbers(env: StreamExecutionEnvironment, mode: str) -> None:
    results = env.from_collection([1, 2, 3, 4]).key_by(lambda n: n % 2).sum().execute_and_collect()
    assert Counter(results) == Counter([4, 6] if mode == "BATCH" else [1, 4, 2, 6])
