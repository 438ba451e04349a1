"""Filters that are functions: sources and exchanges hear with which values they begin, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from penstock.common import Configuration, Types
from penstock.common.errors import JobExecutionException
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, ParquetFormat
from penstock.execution.submit import plan_to_run
from penstock.tracing import trace_filter

TYPE = Types.ROW_NAMED(["id", "name", "x"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
RULES = "push-filters,filter-before-exchanges"
WANTED = "c"

Condition = Callable[[Any], Any]


def is_wanted(name: str) -> bool:
    return name == "c"


@pytest.mark.parametrize(
    ("function", "required"),
    [
        (lambda r: r.name == "c", [(1, "c")]),
        (lambda r: r[0] == 7 and "c" == r.name, [(0, 7), (1, "c")]),  # noqa: SIM300
        (lambda r: r.id == 7 and r.x > 1.0, [(0, 7)]),
        (lambda r: r.x > 1.0 and r.id == 7, []),  # the comparison of a None would have failed before
        (lambda r: r.id == 7 or r.name == "c", []),
        (lambda r: not r.id == 7, []),  # noqa: SIM201
        (lambda r: r.id != 7, []),
        (lambda r: r.id == 7.0, []),
        (lambda r: r.name == WANTED, []),  # may have another value when the job runs
        (lambda r: is_wanted(r.name), []),  # may be another function then
        (lambda r: r.id + 1 == 8, []),
        (lambda r: 1 // r.id and r.id == 7, []),
    ],
)
def test_values_that_are_asked_for_first(function: Condition, required: list[Any]) -> None:
    assert trace_filter(function, TYPE).required_values == required


def test_values_of_records_without_fields() -> None:
    assert trace_filter(lambda n: n == 7, Types.LONG()).required_values == [(0, 7)]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Row groups of ten records: `id` rises, and one `x` is missing."""
    directory: Path = tmp_path_factory.mktemp("traced")
    table = pa.table(
        {
            "id": pa.array(range(100), pa.int64()),
            "name": ["abcde"[n // 20] for n in range(100)],
            "x": [None if n == 95 else n / 2 for n in range(100)],
        }
    )
    pyarrow.parquet.write_table(table, directory / "1.parquet", row_group_size=10)
    return str(directory)


def environment(disabled: str = "") -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("optimizer.disabled-rules", disabled)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def rows(env: StreamExecutionEnvironment, path: str) -> DataStream:
    return env.from_source(FileSource(path, ParquetFormat()))


def records_read(env: StreamExecutionEnvironment, path: str, function: Condition) -> int:
    rows(env, path).filter(function).add_sink(lambda row: None)
    client = env.execute_async()
    client.wait()
    return client.metrics()["records_read"]


def test_a_source_reads_only_what_may_have_the_value(numbers: str) -> None:
    assert records_read(environment(), numbers, lambda r: r.name == "c") == 20
    assert records_read(environment(), numbers, lambda r: r.id == 7 and r.x > 1.0) == 10
    assert records_read(environment(), numbers, lambda r: r.name == WANTED) == 100
    assert records_read(environment("push-filters"), numbers, lambda r: r.name == "c") == 100


PROGRAMS: dict[str, Callable[[DataStream], DataStream]] = {
    "of a source": lambda rows: rows.filter(lambda r: r.name == "c" and r.id == 45),
    "behind a rebalance": lambda rows: rows.rebalance().filter(lambda r: r.name == "c").map(lambda r: r.id),
    "behind a union": lambda rows: (
        rows.union(rows).filter(lambda r: r.id == 7 and r.x > 1.0).map(lambda r: (r.id, r.x))
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_stay(program: str, numbers: str) -> None:
    build = PROGRAMS[program]
    moved = sorted(map(repr, build(rows(environment(), numbers)).execute_and_collect()))
    assert moved
    assert moved == sorted(map(repr, build(rows(environment(RULES), numbers)).execute_and_collect()))


@pytest.mark.parametrize(("program", "exchanges"), [("behind a rebalance", 1), ("behind a union", 2)])
def test_what_a_function_would_drop_is_not_sent(program: str, exchanges: int, numbers: str) -> None:
    env = environment()
    PROGRAMS[program](rows(env, numbers)).print()
    plan = plan_to_run(env.get_plan(), env.configuration)
    assert len([edge for edge in plan.edges if edge.condition is not None]) == exchanges


@pytest.mark.parametrize("disabled", ["", RULES])
def test_a_record_that_fails_still_fails(disabled: str, numbers: str) -> None:
    env = environment(disabled)
    rows(env, numbers).rebalance().filter(lambda r: r.x > 1.0 and r.name == "a").print()
    with pytest.raises(JobExecutionException, match="TypeError") as failure:
        env.execute()
    assert failure.value.report is not None
    assert "id=95" in (failure.value.report.record or "")
