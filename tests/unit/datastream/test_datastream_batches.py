"""`map_batches`, `process_batches` and `explode` in programs: plans, results, refusals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.common.errors import ArgumentError, JobExecutionException, PlanError
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import KeyedBatchContext
from penstock.expressions import col, explode, lit, row, this
from penstock.state import ValueStateDescriptor

ITEM = Types.ROW_NAMED(["user", "n", "tags"], [Types.STRING(), Types.LONG(), Types.LIST(Types.STRING())])
ITEMS = [
    Row(user="ann", n=1, tags=["a", "b"]),
    Row(user="bob", n=2, tags=[]),
    Row(user="ann", n=3, tags=None),
    Row(user="eve", n=4, tags=["c", None]),
]


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def items(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(ITEMS, ITEM)


def collected(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect(), key=repr)


def same(batch: Any, *_: Any) -> Any:
    return batch


def test_records_pass_unchanged_and_keep_their_type(items: DataStream) -> None:
    for format_ in ("arrow", "pandas", "numpy"):
        assert items.map_batches(same, format=format_).get_type() == ITEM
    assert collected(items.map_batches(same)) == sorted(ITEMS, key=repr)


EXACT = 2**53 + 1
"""An integer that no float is."""
NESTED: dict[str, tuple[Any, list[Any]]] = {
    "lists": (Types.LIST(Types.LONG()), [[EXACT, None], [1], [], None]),
    "rows": (Types.ROW_NAMED(["n"], [Types.LONG()]), [Row(n=EXACT), Row(n=None), None]),
    "maps": (Types.MAP(Types.STRING(), Types.LONG()), [{"a": EXACT, "b": None}, {}, None]),
    "lists of rows": (Types.LIST(Types.ROW_NAMED(["n"], [Types.INT()])), [[Row(n=1), Row(n=None)], [Row(n=2)]]),
    "lists of floats": (Types.LIST(Types.DOUBLE()), [[1.5, None], [None], []]),
    "lists of dates": (Types.LIST(Types.SQL_DATE()), [[dt.date(2024, 2, 29), None], [dt.date(1, 1, 1)]]),
}


@pytest.mark.parametrize("format_", ["arrow", "pandas", "numpy"])
@pytest.mark.parametrize("name", NESTED)
def test_values_inside_of_others_stay_what_they_are_where_one_is_missing(
    env: StreamExecutionEnvironment, name: str, format_: Any
) -> None:
    nested, values = NESTED[name]
    kind = Types.ROW_NAMED(["value"], [nested])
    records = env.set_parallelism(1).from_collection([Row(value=value) for value in values], kind)
    passed = records.map_batches(same, format=format_)
    assert [row.value for row in passed.execute_and_collect()] == values


def test_a_chain_of_the_source_takes_it_in(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    items = env.from_collection(ITEMS, ITEM)
    items.map_batches(same).name("Scores").key_by("user").process_batches(same).name("Sums").print()
    text = str(env.explain())
    assert "MapBatches 'Scores' | type RowTypeInfo" in text
    assert "KeyedBatches 'Sums' | keyed" in text
    assert text.index("MapBatches") < text.index("stage 1") < text.index("KeyedBatches 'Sums' | keyed")


def test_keys_by_an_expression_have_its_type(items: DataStream) -> None:
    def first(batch: pa.RecordBatch, ctx: KeyedBatchContext) -> dict[str, Any]:
        total = ctx.get_state(ValueStateDescriptor("total", Types.LONG()))
        total.put_many(ctx.keys, batch["n"])
        return {"value": ctx.distinct_keys}

    assert collected(items.key_by(col("n") % 2 == 0).process_batches(first, Types.BOOLEAN())) == [False, True]
    assert collected(items.key_by(lambda item: item.user).process_batches(first, Types.STRING())) == [
        "ann",
        "bob",
        "eve",
    ]


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda s: s.map_batches(7), ArgumentError, "map_batches: `func` is 7"),
        (lambda s: s.map_batches(dict), ArgumentError, "an instance: write dict"),
        (lambda s: s.map_batches(same, format="polars"), ArgumentError, "'arrow', 'pandas' or 'numpy'"),
        (lambda s: s.map_batches(same, Types.PICKLED_BYTE_ARRAY()), PlanError, "which have no columns"),
        (lambda s: s.map(lambda item: item).map_batches(same), PlanError, "the records are any Python objects"),
        (lambda s: s.map_batches(same, timestamp_column="n"), PlanError, "has a field of that name"),
        (lambda s: s.map_batches(same, Types.LONG(), timestamp_column="value"), PlanError, "has a field of that name"),
        (lambda s: s.map_batches(same, timestamp_column=""), ArgumentError, "timestamp_column"),
        (lambda s: s.key_by("user").process_batches(None), ArgumentError, "process_batches: `func` is None"),
        (lambda s: s.map(explode(col("tags"))), PlanError, "pass it to `flat_map`"),
        (lambda s: s.flat_map(col("tags")), PlanError, "flat_map takes `explode"),
        (lambda s: s.flat_map(explode(col("n"))), PlanError, "explode needs a list"),
        (lambda s: s.flat_map((explode(col("tags")), explode(col("tags")))), PlanError, "one of its fields"),
    ],
)
def test_what_is_refused(
    items: DataStream, build: Callable[[DataStream], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as refusal:
        build(items)
    assert f"at {__file__}:" in str(refusal.value)


def test_a_result_that_does_not_fit_names_the_column_the_operator_and_the_line(items: DataStream) -> None:
    wrong = items.map_batches(lambda batch: batch.assign(n="many"), format="pandas").name("Counts")
    with pytest.raises(JobExecutionException, match="column 'n' of the batch") as failure:
        collected(wrong)
    report = failure.value.report
    assert report is not None
    assert (report.operator, report.error_type) == ("Counts", "TypeMismatchError")
    assert f"{__file__}:" in (report.call_site or "")


def test_explode_makes_a_record_of_each_element(items: DataStream) -> None:
    assert collected(items.flat_map(explode(col("tags")))) == ["a", "b", "c", None]
    pairs = items.flat_map((col("user").upper(), explode(col("tags")), col("n")))
    assert collected(pairs) == [("ANN", "a", 1), ("ANN", "b", 1), ("EVE", "c", 4), ("EVE", None, 4)]
    named = items.key_by("user").flat_map(row(tag=explode(col("tags")).alias("t"), n=lit(0)))
    assert named.get_type() == Types.ROW_NAMED(["tag", "n"], [Types.STRING(), Types.LONG()])
    assert collected(named)[0] == Row(tag="a", n=0)


def test_exploded_rows_are_records(env: StreamExecutionEnvironment) -> None:
    line = Types.ROW_NAMED(["sku", "n"], [Types.STRING(), Types.LONG()])
    orders = env.from_collection([[Row(sku="x", n=1), Row(sku="y", n=2)], []], Types.LIST(line))
    assert collected(orders.flat_map(explode(this()))) == [Row(sku="x", n=1), Row(sku="y", n=2)]
    missing = env.from_collection([[Row(sku="x", n=1), None]], Types.LIST(line))
    with pytest.raises(JobExecutionException, match="a record with fields cannot be None"):
        collected(missing.flat_map(explode(this())))


def test_exploded_records_have_a_declared_type(env: StreamExecutionEnvironment) -> None:
    texts = env.from_collection(["1,2", "300"], Types.STRING())
    numbers = texts.flat_map(explode(this().split(","))).map(this().cast(int))
    assert collected(numbers) == [1, 2, 300]
    lists = env.from_collection([[1, 2], [300]], Types.LIST(Types.LONG()))
    assert collected(lists.flat_map(explode(this()), Types.DOUBLE())) == [1.0, 2.0, 300.0]
    with pytest.raises(JobExecutionException, match=r"not in range: -128 to 127"):
        collected(lists.flat_map(explode(this()), Types.BYTE()))


def test_times_of_exploded_records_and_of_timestamps(env: StreamExecutionEnvironment) -> None:
    events = env.from_collection(
        [Row(at=dt.datetime(1970, 1, 1, 0, 0, 7), values=[1, 2])],
        Types.ROW_NAMED(["at", "values"], [Types.SQL_TIMESTAMP(), Types.LIST(Types.LONG())]),
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col("at"))
    timed = events.assign_timestamps_and_watermarks(strategy).flat_map(explode(col("values")))
    assert collected(timed.process(lambda value, ctx: [(value, ctx.timestamp())])) == [(1, 7000), (2, 7000)]


def test_a_data_frame_may_be_changed_in_place(items: DataStream) -> None:
    def doubled(batch: pd.DataFrame) -> pd.DataFrame:
        batch["n"] *= 2
        batch.loc[batch["user"] == "bob", "n"] = 0
        return batch

    results = items.map_batches(doubled, format="pandas")
    assert sorted(record.n for record in results.execute_and_collect()) == [0, 2, 6, 8]
