"""Columns that nobody reads: not read, not sent, and nobody can tell from the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionException
from penstock.common.watermark_generator import BoundedOutOfOrdernessWatermarks, WatermarkOutput
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import ArrowFormat, FileSource, OrcFormat, ParquetFormat
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.execution.submit import plan_to_run
from penstock.expressions import avg, col, count, max_, sum_, this, window_end
from penstock.optimizer.pipeline import optimize
from penstock.plan.plan import Plan

FIELDS = ["id", "shop", "price", "pieces", "note", "at"]
TYPE = Types.ROW_NAMED(
    FIELDS, [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.INT(), Types.STRING(), Types.LONG()]
)
SEEN: list[Any] = []


def untraceable(value: Any) -> Any:
    """What nobody can know without calling it."""
    SEEN.append(value)
    return value


STAMPS = WatermarkStrategy.for_bounded_out_of_orderness("1 s").with_timestamp_assigner("at")


@pytest.fixture
def orders(tmp_path: Path) -> str:
    numbers = range(500)
    table = pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "shop": [None if n % 7 == 6 else f"shop {n % 7}" for n in numbers],
            "price": [n / 4 for n in numbers],
            "pieces": pa.array([n % 5 for n in numbers], pa.int32()),
            "note": ["x" * (n % 50) for n in numbers],
            "at": pa.array([n * 37 % 20_000 for n in numbers], pa.int64()),
        }
    )
    directory = tmp_path / "orders"
    directory.mkdir()
    pyarrow.parquet.write_table(table, directory / "1.parquet", row_group_size=100)
    return str(directory)


def environment(**options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    for key, value in options.items():
        configuration.set_string(key.replace("_", ".").replace("..", "-"), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def without_rule() -> StreamExecutionEnvironment:
    return environment(optimizer_disabled__rules="prune-columns")


def windows(orders: DataStream) -> DataStream:
    stamped = orders.assign_timestamps_and_watermarks(STAMPS)
    totals = {"end": window_end(), "n": count(), "turnover": sum_("pieces"), "top": max_("price"), "mean": avg("id")}
    return stamped.key_by("shop").window(SlidingEventTimeWindows.of("4 s", "2 s")).aggregate(**totals)


PROGRAMS: dict[str, tuple[Callable[[DataStream], DataStream], set[str]]] = {
    "a filter and a map": (
        lambda orders: orders.filter(col("pieces") > 2).map((col("id"), col("price") * 2)),
        {"id", "price", "pieces"},
    ),
    "fields by place": (
        lambda orders: orders.filter(col(3) == 1).rebalance().map((col(1), col(5))),
        {"shop", "pieces", "at"},
    ),
    "windows": (windows, {"id", "shop", "price", "pieces", "at"}),
    "windows of several keys": (
        lambda orders: (
            orders.assign_timestamps_and_watermarks(STAMPS)
            .key_by(["pieces", "shop"])
            .window(TumblingEventTimeWindows.of("5 s"))
            .aggregate(n=count())
        ),
        {"shop", "pieces", "at"},
    ),
    "sessions by an expression": (
        lambda orders: (
            orders.assign_timestamps_and_watermarks(STAMPS)
            .key_by(col("id") % 3)
            .window(EventTimeSessionWindows.with_gap(70))
            .aggregate(total=sum_("price"))
        ),
        {"id", "price", "at"},
    ),
    "windows of all": (
        lambda orders: (
            orders.assign_timestamps_and_watermarks(STAMPS)
            .window_all(TumblingEventTimeWindows.of("5 s"))
            .aggregate(n=count())
        ),
        {"pieces", "at"},
    ),
    "a union": (
        lambda orders: orders.filter(col("pieces") == 0).union(orders).select("id", "note").filter(col("id") < 40),
        {"id", "note", "pieces"},
    ),
    "traced functions": (
        lambda orders: (
            orders.filter(lambda row: row.pieces > 1)
            .assign_timestamps_and_watermarks(STAMPS)
            .key_by(lambda row: row.shop, key_type=Types.STRING())
            .window(TumblingEventTimeWindows.of("5 s"))
            .aggregate(total=sum_("price"))
            .map(lambda row: row.total * 2, output_type=Types.DOUBLE())
        ),
        {"pieces", "shop", "price", "at"},
    ),
    "a projection": (lambda orders: orders.project("note", "id"), {"note", "id"}),
    "two readers": (
        lambda orders: orders.select("id", text=col("shop")).union(
            orders.select(col("at").alias("id"), text=col("note"))
        ),
        {"id", "shop", "at", "note"},
    ),
}


def source_fields(plan: Plan) -> set[str]:
    (source,) = plan.sources
    return set(FIELDS if source.read_fields is None else source.read_fields)


def results(env: StreamExecutionEnvironment, program: Callable[[DataStream], DataStream], path: str) -> list[str]:
    read = env.from_source(FileSource(path, ParquetFormat()), WatermarkStrategy.no_watermarks(), "orders")
    return sorted(map(repr, program(read).execute_and_collect()))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_source_reads_only_what_is_read(orders: str, program: str) -> None:
    build, fields = PROGRAMS[program]
    env = environment()
    build(env.from_source(FileSource(orders, ParquetFormat()))).print()
    plan = plan_to_run(env.get_plan(), env.configuration)
    assert source_fields(plan) == fields
    assert any(rewrite.startswith("prune columns: [1]") for rewrite in plan.rewrites)
    assert optimize(plan) == plan


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_those_of_whole_records(orders: str, program: str) -> None:
    build, _ = PROGRAMS[program]
    assert results(environment(), build, orders) == results(without_rule(), build, orders)


class LooksAtNotes(BoundedOutOfOrdernessWatermarks):
    def on_event(self, event: Row, event_timestamp: int, output: WatermarkOutput) -> None:
        assert event.note is not None


SEES_ALL: dict[str, Callable[[DataStream], Any]] = {
    "a function": lambda orders: orders.filter(col("id") > 1).map(untraceable).print(),
    "a sink": lambda orders: orders.filter(col("id") > 1).print(),
    "the record itself": lambda orders: orders.map((this(), col("id"))).print(),
    "a function beside an expression": lambda orders: (orders.map(col("id")).print(), orders.map(str).print()),
    "a function of keys": lambda orders: (
        orders.key_by(lambda row: untraceable(row.id)).sum("id").map(col("id")).print()
    ),
    "a custom partitioner": lambda orders: (
        orders.partition_custom(lambda key, n: key % n, lambda row: row.id).map(col("id")).print()
    ),
    "timestamps by a function": lambda orders: (
        orders.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: untraceable(row.at))
        )
        .map(col("id"))
        .print()
    ),
    "a generator derived from one of ours": lambda orders: (
        orders.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_generator(lambda: LooksAtNotes(0)).with_timestamp_assigner("at")
        )
        .map(col("id"))
        .print()
    ),
}


@pytest.mark.parametrize("program", SEES_ALL)
def test_whoever_may_see_a_record_sees_all_of_it(orders: str, program: str) -> None:
    env = environment()
    SEES_ALL[program](env.from_source(FileSource(orders, ParquetFormat())))
    assert source_fields(plan_to_run(env.get_plan(), env.configuration)) == set(FIELDS)


def test_an_exchange_carries_only_what_is_read_behind_it() -> None:
    env = environment()
    rows = [Row(id=n, shop="ab"[n % 2], price=1.0, pieces=n, note="x", at=n * 100) for n in range(300)]
    stream = windows(env.from_collection(rows, TYPE))
    stream.print()
    plan = plan_to_run(env.get_plan(), env.configuration)
    (exchange,) = [edge for edge in plan.exchanges if edge.exchange.key_fields]
    assert exchange.fields == ("id", "price", "pieces")
    assert "hash(shop) of id, price, pieces" in env.explain()
    without = windows(without_rule().from_collection(rows, TYPE))
    assert sorted(map(repr, stream.execute_and_collect())) == sorted(map(repr, without.execute_and_collect()))


@pytest.mark.parametrize("kind", ["orc", "arrow"])
def test_other_files_of_columns(tmp_path: Path, kind: str) -> None:
    table = pa.table({"a": pa.array(range(10), pa.int64()), "b": ["x"] * 10, "c": [0.5] * 10})
    if kind == "orc":
        pyarrow.orc.write_table(table, tmp_path / "1.orc")
    else:
        with pa.ipc.new_file(tmp_path / "1.arrow", table.schema) as writer:
            writer.write_table(table)
    env = environment()
    file_format = OrcFormat() if kind == "orc" else ArrowFormat()
    doubled = env.from_source(FileSource(str(tmp_path), file_format)).map(col("a") * 2)
    doubled.print()
    assert plan_to_run(env.get_plan(), env.configuration).sources[0].read_fields == ("a",)
    assert sorted(doubled.execute_and_collect()) == list(range(0, 20, 2))


def test_a_column_that_a_file_lacks_is_missed_although_nobody_reads_it(orders: str) -> None:
    pyarrow.parquet.write_table(pa.table({"id": [1]}), Path(orders) / "2.parquet")
    env = environment()
    stream = env.from_source(FileSource(orders, ParquetFormat(TYPE))).map(col("id"))
    with pytest.raises(JobExecutionException, match="no column shop, price"):
        list(stream.execute_and_collect())


def test_a_source_that_cannot_leave_out_fields_is_left_as_it_is() -> None:
    env = environment()
    env.from_collection([Row(id=1, name="a")], Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])).map(
        col("id")
    ).print()
    plan = plan_to_run(env.get_plan(), env.configuration)
    assert not any("reads" in rewrite for rewrite in plan.rewrites)
    assert plan.sources[0].read_fields is None
