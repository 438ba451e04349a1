"""Filters that move: fewer records on the way, the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionException
from penstock.common.typeinfo import DataclassTypeInfo
from penstock.datastream import DataStream, ProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, ParquetFormat
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.execution.submit import plan_to_run
from penstock.expressions import Expression, array, col, count, lit, row, sum_, window_end
from penstock.expressions.timestamps import ExpressionTimestampAssigner
from penstock.optimizer.pipeline import optimize
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import TimestampsAndWatermarksNode
from penstock.plan.plan import Plan

PAIR = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.LONG()])
TYPE = Types.ROW_NAMED(["id", "name", "x"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
WINDOWS = TumblingEventTimeWindows.of("5 s")
RULES = "push-filters,filter-before-exchanges"


@dataclass
class Named:
    id: int
    name: str
    x: float


NAMED = DataclassTypeInfo(Named, TYPE.get_field_names(), TYPE.get_field_types())


def environment(disabled: str = "", mode: str = "STREAMING") -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.runtime-mode", mode)
    configuration.set_string("optimizer.disabled-rules", disabled)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def rows(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(
        [Row(id=n % 13, name=None if n % 5 == 0 else f"n{n % 3}", x=n / 2) for n in range(200)], TYPE
    )


def order_of_expressions(plan: Plan) -> list[str]:
    return [node.kind for node in plan.topological_order if isinstance(node, ExpressionNode)]


def planned(env: StreamExecutionEnvironment, stream: DataStream) -> Plan:
    stream.print()
    return plan_to_run(env.get_plan(), env.configuration)


PROGRAMS: dict[str, Callable[[DataStream], DataStream]] = {
    "behind a projection": lambda rows: rows.select("name", number=col("id")).filter(col("number") > 6),
    "behind two projections": lambda rows: (
        rows.select("x", number=col("id")).map((col("number"), col("x"))).filter((col("f0") > 3) & (col(1) < 50.0))
    ),
    "behind a rebalance": lambda rows: rows.rebalance().filter(col("name") == "n1").map(col("id")),
    "behind a union": lambda rows: rows.union(rows.filter(col("id") == 1)).filter(col("x") > 20.0).select("id", "x"),
    "behind a computation": lambda rows: rows.map((col("id") * 2, col("name"))).filter(col("f0") > 6),
    "behind what may fail": lambda rows: rows.select(n=col("id") // 1, x=col("x")).filter(col("x") > 20.0),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_stay(program: str) -> None:
    build = PROGRAMS[program]
    moved = sorted(map(repr, build(rows(environment())).execute_and_collect()))
    assert moved
    assert moved == sorted(map(repr, build(rows(environment(RULES))).execute_and_collect()))


def test_a_filter_goes_before_maps_that_only_choose_fields() -> None:
    env = environment()
    plan = planned(env, PROGRAMS["behind two projections"](rows(env)))
    assert order_of_expressions(plan) == ["Filter", "Map", "Map"]
    assert sum("goes before" in rewrite for rewrite in plan.rewrites) == 2
    (moved,) = [node for node in plan.nodes if isinstance(node, ExpressionNode) and node.kind == "Filter"]
    assert moved.expression.text == '(col("id") > 3) & (col("x") < 50.0)'
    assert {node.uid for node in plan.nodes} == {node.uid for node in env.get_plan().nodes}


@pytest.mark.parametrize("program", ["behind a computation", "behind what may fail"])
def test_a_filter_stays_behind_maps_that_compute(program: str) -> None:
    env = environment()
    assert order_of_expressions(planned(env, PROGRAMS[program](rows(env)))) == ["Map", "Filter"]


def test_a_filter_stays_behind_a_map_that_others_read() -> None:
    env = environment()
    chosen = rows(env).select("id")
    chosen.print()
    assert order_of_expressions(planned(env, chosen.filter(col("id") > 1))) == ["Map", "Filter"]


@pytest.mark.parametrize(("program", "exchanges"), [("behind a rebalance", 1), ("behind a union", 3)])
def test_what_a_filter_would_drop_is_not_sent(program: str, exchanges: int) -> None:
    env = environment()
    plan = planned(env, PROGRAMS[program](rows(env)))
    filtered = [edge for edge in plan.edges if edge.condition is not None]
    assert len(filtered) == exchanges
    assert " where col(" in env.explain()


class WithSubtask(ProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[tuple[int, int]]:
        yield value.id, self.subtask


SPREAD: dict[str, Callable[[DataStream], DataStream]] = {
    "rebalance": DataStream.rebalance,
    "rescale": DataStream.rescale,
    "shuffle": DataStream.shuffle,
}


@pytest.mark.parametrize("exchange", SPREAD)
def test_records_that_are_sent_go_where_they_went(exchange: str) -> None:
    def sent(disabled: str) -> list[tuple[int, int]]:
        spread = SPREAD[exchange](rows(environment(disabled)))
        return sorted(spread.filter(col("name") == "n1").process(WithSubtask()).execute_and_collect())

    assert sent("")
    assert sent("") == sent(RULES)


def test_a_condition_that_may_fail_stays_where_it_is() -> None:
    env = environment()
    plan = planned(env, rows(env).rebalance().filter(lit(1) / col("x") > 0.1))
    assert not any(edge.condition is not None for edge in plan.edges)


NARROW = Types.ROW_NAMED(["id", "name", "x"], [Types.INT(), Types.STRING(), Types.DOUBLE()])
CHOSEN = row(id=col("id"), name=col("name"), x=col("x"))
PAIRED = Types.ROW_NAMED(["x", "pair"], [Types.DOUBLE(), Types.ROW_NAMED(["id"], [Types.LONG()])])


def paired(record: Row) -> Row:
    return Row(x=record.x, pair=Row(id=record.id) if record.x > 0.0 else None)


FAILING: dict[str, Callable[[DataStream], DataStream]] = {
    "a value that does not fit": lambda rows: rows.map(CHOSEN, output_type=NARROW).filter(col("x") > 0.0),
    "a key by an expression": lambda rows: rows.key_by(lit(1) // (col("id") - 2**40)).filter(col("x") > 0.0),
    "a key by a function": lambda rows: rows.key_by(lambda r: 1 // (r.id - 2**40)).filter(col("x") > 0.0),
    "a key that does not fit": lambda rows: rows.key_by(lambda r: r.id, Types.INT()).filter(col("x") > 0.0),
    "a field that is no key": lambda rows: rows.select("x", ids=array(col("id"))).key_by("ids").filter(col("x") > 5.0),
    "a row that is None": lambda rows: rows.map(paired, PAIRED).key_by("pair").filter(col("x") > 0.0),
    "a partitioner": lambda rows: rows.partition_custom(lambda key, count: 0 // (key - 2**40), lambda r: r.id).filter(
        col("x") > 0.0
    ),
}


@pytest.mark.parametrize("disabled", ["", RULES])
@pytest.mark.parametrize("program", FAILING)
def test_what_fails_with_a_record_that_is_dropped_later_fails(program: str, disabled: str) -> None:
    stream = environment(disabled).from_collection([Row(id=2**40, name="a", x=-1.0), Row(id=1, name="b", x=1.0)], TYPE)
    with pytest.raises(JobExecutionException):
        list(FAILING[program](stream).execute_and_collect())


def test_a_declared_type_says_where_fields_are() -> None:
    def build(disabled: str) -> list[Any]:
        pairs = environment(disabled).from_collection([Row(a=-1, b=5), Row(a=5, b=-1)], PAIR)
        return list(pairs.map(row(b=col("b"), a=col("a")), output_type=PAIR).filter(col("a") > 0).execute_and_collect())

    assert build("") == build(RULES) == [Row(a=5, b=-1)]


def test_a_filter_goes_before_a_map_to_a_declared_class() -> None:
    env = environment()
    plan = planned(env, rows(env).map(CHOSEN, output_type=NAMED).filter(col("x") > 0.0))
    assert order_of_expressions(plan) == ["Filter", "Map"]


# into sources


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Row groups of ten records; `id` rises, `other` does not, `name` is None in some groups."""
    directory = tmp_path_factory.mktemp("numbers")
    table = pa.table(
        {
            "id": pa.array(range(100), pa.int64()),
            "other": pa.array([n * 37 % 100 for n in range(100)], pa.int32()),
            "name": [None if n // 10 in (2, 3) else f"{n:03}" for n in range(100)],
            "x": [float(n) for n in range(100)],
        }
    )
    pyarrow.parquet.write_table(table, directory / "1.parquet", row_group_size=10)
    return str(directory)


def read(env: StreamExecutionEnvironment, path: str, condition: Expression) -> tuple[list[Any], int]:
    """What a filter over a file lets through, and how many records were read for it."""
    stream = env.from_source(FileSource(path, ParquetFormat())).filter(condition).select("id", "name")
    found: list[Any] = []
    stream.add_sink(lambda row: None)
    client = env.execute_async()
    client.wait()
    copy = env.from_source(FileSource(path, ParquetFormat())).filter(condition).select("id", "name")
    found = sorted(map(repr, copy.execute_and_collect()))
    return found, client.metrics()["records_read"]


SYMBOLS = ("==", "<", "<=", ">", ">=", "!=")
comparisons = st.one_of(
    st.tuples(st.sampled_from(("id", "other")), st.sampled_from(SYMBOLS), st.integers(-5, 105)),
    st.tuples(st.just("name"), st.sampled_from(SYMBOLS), st.integers(0, 110).map("{:03}".format)),
)


def condition_of(parts: list[tuple[str, str, Any]]) -> Expression:
    made: Expression | None = None
    for field, symbol, value in parts:
        compared = {
            "==": col(field) == value,
            "!=": col(field) != value,
            "<": col(field) < value,
            "<=": col(field) <= value,
            ">": col(field) > value,
            ">=": lit(value) <= col(field),
        }[symbol]
        made = compared if made is None else made & compared
    assert made is not None
    return made


@settings(max_examples=30, deadline=None)
@given(parts=st.lists(comparisons, min_size=1, max_size=3))
def test_row_groups_are_left_out_and_no_record_is_missed(numbers: str, parts: list[tuple[str, str, Any]]) -> None:
    found, records = read(environment(), numbers, condition_of(parts))
    expected, all_records = read(environment("push-filters"), numbers, condition_of(parts))
    assert found == expected
    assert all_records == 100
    assert records <= 100


def test_only_row_groups_that_may_have_a_record_are_read(numbers: str) -> None:
    assert read(environment(), numbers, (col("id") >= 35) & (col("id") < 50))[1] == 20
    assert read(environment(), numbers, col("name") == "071")[1] == 30  # two groups have no name, and tell nothing
    assert read(environment(), numbers, (col("id") < 10) | (col("id") > 95))[1] == 100
    assert read(environment(), numbers, (col("id") < 10) & (lit(1) / (col("x") + 1.0) > 0.0))[1] == 100


@pytest.mark.parametrize(("mode", "is_told"), [("STREAMING", False), ("BATCH", True)])
def test_a_source_that_makes_watermarks_gives_all_records_to_a_stream(numbers: str, mode: str, is_told: bool) -> None:
    env = environment(mode=mode)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("id")
    stream = env.from_source(FileSource(numbers, ParquetFormat()), strategy, "numbers").filter(col("id") < 10)
    plan = planned(env, stream)
    assert any("may leave out" in rewrite for rewrite in plan.rewrites) == is_told


FAILING_WITH_FIRST: dict[str, Callable[[DataStream], DataStream]] = {
    "a key by an expression": lambda rows: rows.key_by(lit(1) // col("id")),
    "a key by a function": lambda rows: rows.key_by(lambda r: 1 // r.id),
    "a partitioner": lambda rows: rows.partition_custom(lambda key, count: 0 // key, lambda r: r.id),
}


@pytest.mark.parametrize("disabled", ["", RULES])
@pytest.mark.parametrize("program", FAILING_WITH_FIRST)
def test_what_fails_with_a_record_that_need_not_be_read_fails(program: str, disabled: str, numbers: str) -> None:
    stream = environment(disabled).from_source(FileSource(numbers, ParquetFormat()))
    with pytest.raises(JobExecutionException, match="by zero"):
        list(FAILING_WITH_FIRST[program](stream).filter(col("id") > 50).execute_and_collect())


@pytest.mark.parametrize("disabled", ["", RULES])
@pytest.mark.parametrize("times", [lit(1) // col("id"), lambda r, _: 1 // r.id], ids=["expression", "function"])
def test_times_that_fail_with_a_record_that_need_not_be_read_fail(times: Any, disabled: str, numbers: str) -> None:
    env = environment(disabled, mode="BATCH")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(times)
    stream = env.from_source(FileSource(numbers, ParquetFormat()), strategy, "numbers").filter(col("id") > 50)
    with pytest.raises(JobExecutionException, match="by zero"):
        list(stream.execute_and_collect())


def test_a_source_with_a_second_reader_gives_all_records(numbers: str) -> None:
    env = environment()
    stream = env.from_source(FileSource(numbers, ParquetFormat()))
    stream.map(col("id")).print()
    assert not any("may leave out" in rewrite for rewrite in planned(env, stream.filter(col("id") < 10)).rewrites)


# constants


def test_what_is_the_same_for_all_records_is_computed_once() -> None:
    env = environment()
    plan = planned(env, rows(env).map((col("id") + lit(2) * 3, col("name"))))
    (node,) = [node for node in plan.nodes if isinstance(node, ExpressionNode)]
    assert node.expression.text == '(col("id") + 6, col("name"))'
    assert any(rewrite.startswith("fold constants") for rewrite in plan.rewrites)


def folds_everywhere(rows: DataStream, assigner: Any = WINDOWS) -> DataStream:
    stamps = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col("id") + lit(60) * 1000)
    keyed = rows.assign_timestamps_and_watermarks(stamps).key_by(col("id") % (lit(2) + 1))
    return keyed.window(assigner).aggregate(total=sum_(col("id") + lit(2) * 3), n=count(), end=window_end())


def test_constants_in_keys_timestamps_and_aggregates_are_computed_once() -> None:
    env = environment()
    plan = planned(env, folds_everywhere(rows(env)).rebalance().filter(col("total") > lit(2) * 3))
    (stamps,) = [node for node in plan.nodes if isinstance(node, TimestampsAndWatermarksNode)]
    assert isinstance(stamps.watermark_strategy.timestamp_assigner, ExpressionTimestampAssigner)
    assert stamps.watermark_strategy.timestamp_assigner.expression.text == 'col("id") + 60000'
    text = env.explain()
    assert '=> hash(col("id") % 3)' in text
    assert 'total=sum_(col("id") + 6), n=count(), end=window_end(), in columns' in text
    assert '=> rebalance where col("total") > 6' in text
    assert "fold constants: the key of [3] 'TumblingEventTimeWindows'" in text
    assert optimize(plan) == plan


@pytest.mark.parametrize("assigner", [WINDOWS, EventTimeSessionWindows.with_dynamic_gap(lambda row: 1000)])
def test_results_stay_where_constants_are_computed_once(assigner: Any) -> None:
    found = sorted(map(repr, folds_everywhere(rows(environment()), assigner).execute_and_collect()))
    without = folds_everywhere(rows(environment("fold-constants")), assigner)
    assert found == sorted(map(repr, without.execute_and_collect()))
