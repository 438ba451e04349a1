"""Joins with tables: rows spread by key, and rows in every subtask."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest

from penstock.common import Configuration, JobExecutionException, Row, Types, WatermarkStrategy
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.common.type_inference import infer_type
from penstock.connectors.dataframe import ArrowTableSource
from penstock.datastream import DataStream, FlatJoinFunction, StreamExecutionEnvironment
from penstock.datastream.broadcast_lookup import BroadcastLookup
from penstock.expressions import col
from penstock.functions import JoinKind
from penstock.plan.nodes import Exchange, ExchangeKind
from penstock.runtime.lookup_join import LookupJoinOperator
from penstock.testing import ScriptedSource, record
from unit.runtime.join_steps import key
from unit.runtime.operator_harness import ANY, Harness

BOTH = pytest.mark.parametrize("distribution", ["broadcast", "keyed"])


@pytest.fixture(params=["STREAMING", "BATCH"])
def env(request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    """Epochs are small: a table comes in many of them."""
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.runtime-mode", request.param)
    configuration.set_string("execution.epoch.max-records", "4")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def collected(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect(), key=repr)


class Version(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        yield first, None if second is None else second["name"]


PEOPLE = pd.DataFrame({"id": list(range(40)), "name": [f"p{number}" for number in range(40)]})


@BOTH
def test_records_wait_for_the_whole_table(env: StreamExecutionEnvironment, distribution: str) -> None:
    stream = env.from_collection([39, 1, 50, 7, 39], Types.LONG())
    found = stream.lookup_join(PEOPLE, on="id", key=lambda n: n, how="left", distribution=distribution)
    expected = [(1, "p1"), (39, "p39"), (39, "p39"), (50, None), (7, "p7")]
    assert collected(found.apply(Version())) == expected


@BOTH
def test_an_inner_join_has_a_result_for_every_row(env: StreamExecutionEnvironment, distribution: str) -> None:
    table = pa.table({"k": ["a", "a", "b"], "v": [1, 2, 3]})
    found = env.from_collection(["a", "b", "c"]).lookup_join(table, on="k", key=str, distribution=distribution)
    assert collected(found.apply(lambda record, row: (record, row.v))) == [("a", 1), ("a", 2), ("b", 3)]


class Person(NamedTuple):
    """A number, and the name that it has in the table."""

    number: int
    name: str


ORDER = Types.ROW_NAMED(["n", "who"], [Types.LONG(), Types.INT()])
ORDERS = [Row(n=number, who=number * 7 % 50) for number in range(60)]
FOUND = [Person(order.n, f"p{order.who}") for order in ORDERS if order.who < 40]


def with_name(order: Row, person: Row) -> Person:
    return Person(order.n, person.name)


@pytest.mark.parametrize("key", ["who", col("who") + 0, lambda order: order.who], ids=["field", "expression", "lambda"])
@pytest.mark.parametrize("rules", ["", "trace-functions"])
def test_records_that_are_columns_are_joined_as_columns(env: StreamExecutionEnvironment, key: Any, rules: str) -> None:
    env.configuration.set_string("optimizer.disabled-rules", rules)
    joined = env.from_collection(ORDERS, ORDER).lookup_join(PEOPLE, on="id", key=key).apply(with_name)
    assert sorted(joined.execute_and_collect()) == FOUND


def test_a_join_by_an_untraced_function_says_why(env: StreamExecutionEnvironment) -> None:
    def noisy(order: Row, person: Row) -> Person:
        print("joined")
        return Person(order.n, person.name)

    orders = env.from_collection(ORDERS[:3], ORDER)
    orders.lookup_join(PEOPLE, on="id", key="who").apply(noisy).print()
    assert "not traced: it calls print, which is not known to be pure" in env.explain()
    twice = pd.concat([PEOPLE, PEOPLE])
    orders.lookup_join(twice, on="id", key="who").apply(with_name).print()
    assert "not traced: the table has several rows of a key" in env.explain()


def test_a_left_join_gives_none_where_no_row_is_found(env: StreamExecutionEnvironment) -> None:
    def name_or_not(order: Row, person: Row | None) -> Person:
        return Person(order.n, person.name if person is not None else "?")

    joined = env.from_collection(ORDERS, ORDER).lookup_join(PEOPLE, on="id", key="who", how="left").apply(name_or_not)
    expected = [Person(order.n, f"p{order.who}" if order.who < 40 else "?") for order in ORDERS]
    assert sorted(joined.execute_and_collect()) == expected


def test_columns_are_joined_by_kernels() -> None:
    exchanges = (
        Exchange(ExchangeKind.HASH, lambda row: row.who, key_fields=("who",), key_type=Types.INT()),
        Exchange(ExchangeKind.HASH, lambda row: row.id, key_fields=("id",), key_type=Types.LONG()),
    )
    table = ArrowTableSource(pa.Table.from_pandas(PEOPLE))
    lookup = BroadcastLookup(with_name, JoinKind.INNER, None, table, exchanges)
    assert lookup.results_of(Batch(codec_for(ORDER), values=ORDERS)) is None
    over_columns = lookup.over_columns(ORDER, infer_type(Person))
    over_columns._in_columns = over_columns._lookup_in_columns()
    columns = codec_for(ORDER).to_columns(ORDERS)
    batch = Batch(codec_for(ORDER), columns=columns, timestamps=pa.array(range(60)))
    found = over_columns.results_of(batch)
    assert found is not None
    assert found.values == FOUND
    assert found.timestamps == [person.number for person in FOUND]


UTC = datetime.UTC
TIMES: dict[str, list[Any]] = {
    "milliseconds": [0, 1_000, 0],
    "timestamps": [datetime.datetime(1970, 1, 1, 0, 0, second) for second in (0, 1, 0)],
    "timestamps with a zone": [datetime.datetime(1970, 1, 1, 0, 0, second, tzinfo=UTC) for second in (0, 1, 0)],
    "dates": [datetime.date(1970, 1, 1), datetime.date(1970, 1, 2), datetime.date(1970, 1, 1)],
}


@BOTH
@pytest.mark.parametrize("times", TIMES)
def test_a_row_holds_until_the_next_one_does(env: StreamExecutionEnvironment, distribution: str, times: str) -> None:
    table = pa.table({"k": ["a", "a", "b"], "since": TIMES[times], "name": ["old", "new", "only"]})
    unit = 86_400_000 if times == "dates" else 1_000
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
    records = [("a", 0), ("a", unit - 1), ("a", unit), ("b", 5 * unit), ("a", -1), ("c", 0)]
    stream = env.from_collection(records, Types.TUPLE([Types.STRING(), Types.LONG()]))
    found = stream.assign_timestamps_and_watermarks(strategy).lookup_join(
        table, on="k", key=0, how="left", valid_from="since", distribution=distribution
    )
    names = [None, "old", "old", "new", "only", None]
    expected = zip([records[4], *records[:4], records[5]], names, strict=True)
    assert collected(found.apply(Version())) == sorted(expected, key=repr)


@BOTH
def test_several_columns_by_the_names_of_fields(env: StreamExecutionEnvironment, distribution: str) -> None:
    table = pd.DataFrame({"country": ["fi", "se"], "shop": [1, 1], "name": ["Turku", "Lund"]})
    # The shop has another number of bits than in the table: it is the same number.
    row_type = Types.ROW_NAMED(["shop", "country"], [Types.INT(), Types.STRING()])
    stream = env.from_collection([(1, "se"), (2, "se")], row_type)
    found = stream.lookup_join(table, on=["country", "shop"], distribution=distribution)
    assert collected(found.apply(lambda record, row: row.name)) == ["Lund"]


@BOTH
def test_a_key_by_an_expression(env: StreamExecutionEnvironment, distribution: str) -> None:
    stream = env.from_collection([(3,), (4,)], Types.TUPLE([Types.LONG()]))
    found = stream.lookup_join(PEOPLE, on="id", key=col(0) * 10, distribution=distribution)
    assert collected(found.apply(lambda record, row: row["name"])) == ["p30"]


@BOTH
def test_a_record_without_a_timestamp_cannot_be_compared(env: StreamExecutionEnvironment, distribution: str) -> None:
    table = pa.table({"k": ["a"], "since": [0]})
    stream = env.from_source(ScriptedSource([record("a")]))
    found = stream.lookup_join(table, on="k", key=str, valid_from="since", distribution=distribution)
    found.apply(lambda record, row: row).print()
    with pytest.raises(JobExecutionException, match="without a timestamp came to lookup_join"):
        env.execute()


@BOTH
def test_a_row_without_a_time_is_refused(env: StreamExecutionEnvironment, distribution: str) -> None:
    table = pa.table({"k": ["a"], "since": pa.array([None], pa.int64())})
    stream = env.from_source(ScriptedSource([record("a")]))
    found = stream.lookup_join(table, on="k", key=str, valid_from="since", distribution=distribution)
    found.apply(lambda record, row: row).print()
    with pytest.raises(JobExecutionException, match="the column 'since' of the table has None"):
        env.execute()


@BOTH
def test_a_key_of_another_type_fails_with_the_record(env: StreamExecutionEnvironment, distribution: str) -> None:
    found = env.from_collection(["1"]).lookup_join(PEOPLE, on="id", key=lambda n: n, distribution=distribution)
    found.apply(lambda record, row: row).print()
    with pytest.raises(JobExecutionException, match="'1'"):
        env.execute()


@pytest.mark.parametrize("restarts", [False, True])
def test_what_waits_is_joined_when_the_table_is_complete(restarts: bool) -> None:
    join = lambda record, row: (record, row and row["v"])  # noqa: E731
    test = Harness(lambda: LookupJoinOperator(join, JoinKind.LEFT, None, None, ANY), restarts=restarts)
    row_key = lambda row: row["k"]  # noqa: E731
    test.process([("a", 1)], key=key, timestamps=[5], on=0)
    test.process([{"k": "a", "v": 10}], key=row_key, on=1)
    test.process([("b", 2)], key=key, on=0)
    assert test.taken() == []
    test.operator.end_input(1)
    assert sorted(test.taken(), key=repr) == [((("a", 1), 10), 5), ((("b", 2), None), None)]
    test.process([("a", 3)], key=key, timestamps=[6], on=0)
    # After a restart the operator is told again, and has nothing left that waits.
    test.operator.end_input(1)
    assert [value for value, _ in test.taken()] == [(("a", 3), 10)]


def test_a_failure_names_the_record_that_waited() -> None:
    def fail(record: Any, row: Any) -> None:
        raise ValueError("no")

    test = Harness(lambda: LookupJoinOperator(fail, JoinKind.LEFT, None, None, ANY))
    test.process([("a", 1)], key=key, on=0)
    with pytest.raises(UserFunctionError) as failure:
        test.operator.end_input(1)
    assert (failure.value.report.record, failure.value.report.key) == ("('a', 1)", "'a'")
