"""A `reduce` of a batch, and functions that the program declares to be combinable: senders do a part of their work."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Types
from penstock.common.errors import ArgumentError, JobExecutionException
from penstock.datastream import KeyedStream, ReduceFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.functions import combinable
from penstock.execution.submit import plan_to_run
from penstock.testing import local_environment
from penstock.testing.memory_sink import MemorySink
from unit.optimizer.test_optimizer_pre_aggregate import always_combines, rows_on_the_way

__all__ = ["always_combines", "rows_on_the_way"]

TYPE = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])


@combinable
def product(one: Row, other: Row) -> Row:
    return Row(k=one.k, v=one.v * other.v % 1_000_003)


@combinable
class Product(ReduceFunction):
    def reduce(self, value1: Row, value2: Row) -> Row:
        return product(value1, value2)


class Opened(Product):
    def open(self, runtime_context: Any) -> None:
        self.is_open = True


class Difference(Product):
    def reduce(self, value1: Row, value2: Row) -> Row:
        return Row(k=value1.k, v=value1.v - value2.v)


def changed(one: Row, other: Row) -> Row:
    """Changes its first argument, as Flink's users may."""
    one["v"] = one.v * other.v % 1_000_003
    return one


COMBINED = {
    "a function": lambda keyed: keyed.reduce(product),
    "an object": lambda keyed: keyed.reduce(Product()),
    "one that changes its argument": lambda keyed: keyed.reduce(combinable(changed)),
    "the sum of a field": lambda keyed: keyed.sum("v"),
    "the least of a field": lambda keyed: keyed.min("v"),
    "a recognised function": lambda keyed: keyed.reduce(lambda one, other: Row(k=one.k, v=max(one.v, other.v))),
}
NOT_COMBINED = {
    "nothing is said of it": lambda keyed: keyed.reduce(lambda one, other: Row(k=one.k, v=one.v * other.v)),
    "it must be opened": lambda keyed: keyed.reduce(Opened()),
    "a subclass has another function": lambda keyed: keyed.reduce(Difference()),
    "whole records are kept": lambda keyed: keyed.max_by("v"),
}


def environment(mode: RuntimeExecutionMode, disabled: str = "") -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("optimizer.disabled-rules", disabled)
    env = local_environment(configuration, parallelism=2)
    env.set_runtime_mode(mode)
    return env


def keyed(env: StreamExecutionEnvironment, rows: list[tuple[str, int]]) -> KeyedStream:
    records = env.from_collection([Row(k=k, v=v) for k, v in rows], TYPE)
    return records.rebalance().map(lambda row: row, TYPE).key_by("k")


def is_combined(apply: Any, mode: RuntimeExecutionMode = RuntimeExecutionMode.BATCH) -> bool:
    env = environment(mode)
    apply(keyed(env, [("a", 1)])).print()
    return any(edge.is_combined for edge in plan_to_run(env.get_plan(), env.configuration).edges)


def outcome(disabled: str, rows: list[tuple[str, int]], apply: Any) -> tuple[Counter[str], dict[str, int]]:
    """The results of a batch, and the records in and out."""
    env = environment(RuntimeExecutionMode.BATCH, disabled)
    out = MemorySink()
    apply(keyed(env, rows)).uid("reduced").map(lambda row: [repr(row)]).sink_to(out)
    client = env.execute_async()
    client.wait()
    return Counter(text for (text,) in out.records), client.metrics()["operators"]["reduced"]


@pytest.mark.parametrize("name", COMBINED)
def test_a_batch_reduces_before_the_exchange(name: str) -> None:
    assert is_combined(COMBINED[name])


@pytest.mark.parametrize("name", NOT_COMBINED)
def test_it_does_not_where(name: str) -> None:
    assert not is_combined(NOT_COMBINED[name])


def test_a_stream_has_a_result_for_every_record() -> None:
    assert not is_combined(COMBINED["a function"], RuntimeExecutionMode.STREAMING)


def test_records_of_no_declared_type_are_sent_as_they_are() -> None:
    env = environment(RuntimeExecutionMode.BATCH)
    pairs = env.from_collection([("a", 1)], Types.PICKLED_BYTE_ARRAY())
    pairs.key_by(lambda pair: pair[0]).reduce(product).print()
    assert not any(edge.is_combined for edge in plan_to_run(env.get_plan(), env.configuration).edges)


@pytest.mark.usefixtures("always_combines")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-(1 << 62), 1 << 62)), max_size=60),
    st.sampled_from(sorted(COMBINED)),
)
def test_results_and_counts_are_the_same(rows: list[tuple[str, int]], name: str) -> None:
    rows = [(k, v % 1_000_003 if name == "the sum of a field" else v) for k, v in rows]
    assert outcome("", rows, COMBINED[name]) == outcome("pre-aggregate", rows, COMBINED[name])


def test_less_is_sent(rows_on_the_way: list[tuple[int, int]]) -> None:
    rows = [("abc"[n % 3], n) for n in range(3_000)]
    outcome("pre-aggregate", rows, COMBINED["a function"])
    bytes_as_they_are = sum(size for _, size in rows_on_the_way)
    rows_on_the_way.clear()
    outcome("", rows, COMBINED["a function"])
    assert sum(size for _, size in rows_on_the_way) < bytes_as_they_are * 0.7  # what is left goes to `map`


@pytest.mark.usefixtures("always_combines")
@pytest.mark.parametrize("disabled", ["", "pre-aggregate"])
def test_a_record_that_fails_is_named_where_it_is_reduced(disabled: str) -> None:
    @combinable
    def quotient(one: Row, other: Row) -> Row:
        return Row(k=one.k, v=one.v // other.v)

    with pytest.raises(JobExecutionException, match="by zero") as failure:
        outcome(disabled, [("a", 8), ("a", 2), ("a", 0), ("a", 5)], lambda stream: stream.reduce(quotient))
    report = failure.value.report
    assert report is not None
    assert (report.uid, report.error_type) == ("reduced", "ZeroDivisionError")


@combinable
def kept(one: Row, other: Row) -> Row:
    """Changes the record that it keeps, whichever of the two that is."""
    greater = one if one.v >= other.v else other
    greater["v"] = one.v + other.v
    return greater


@pytest.mark.usefixtures("always_combines")
def test_a_function_that_changes_records_changes_them_for_nobody_else() -> None:
    env = environment(RuntimeExecutionMode.BATCH)
    sums = [MemorySink(), MemorySink()]
    stream = keyed(env, [("a", number) for number in range(10)])
    for out in sums:
        stream.reduce(kept).map(lambda row: [row.v]).sink_to(out)
    env.execute()
    assert [out.records for out in sums] == [[[45]], [[45]]]


@pytest.mark.parametrize("marked", [max, Product(), 3, Opened])
def test_what_cannot_be_marked(marked: Any) -> None:
    with pytest.raises(ArgumentError, match="@combinable stands before a function"):
        combinable(marked)
