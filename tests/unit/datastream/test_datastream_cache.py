"""Streams that are computed once and read by later jobs, and some of the fields of records. On the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types
from penstock.common.errors import JobExecutionException, PlanError
from penstock.datastream import RuntimeExecutionMode, SourceFunction, StreamExecutionEnvironment

CALLS: list[int] = []
"""Which records `counted` was called with; the local engine calls it in this process."""


@pytest.fixture(params=[RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH], ids=str)
def env(request: pytest.FixtureRequest, tmp_path: Path) -> StreamExecutionEnvironment:
    CALLS.clear()
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.epoch.max-records", "4").set_string("execution.cache.dir", str(tmp_path))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(2).set_runtime_mode(request.param)


def counted(value: int) -> int:
    CALLS.append(value)
    return value * value


def collected(stream: Any) -> list[Any]:
    return sorted(stream.execute_and_collect())


def test_later_jobs_read_what_the_first_one_computed(env: StreamExecutionEnvironment) -> None:
    squares = env.from_collection(range(10)).map(counted, Types.INT()).cache()
    assert collected(squares.filter(lambda n: n > 10)) == [16, 25, 36, 49, 64, 81]
    assert collected(squares.map(lambda n: -n)) == sorted(-n * n for n in range(10))
    assert collected(squares) == [n * n for n in range(10)]
    assert len(CALLS) == 10


def test_a_stream_that_was_invalidated_is_computed_again(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    squares = env.from_collection(range(3)).map(counted).cache()
    assert [collected(squares), collected(squares)] == [[0, 1, 4]] * 2
    squares.invalidate()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert collected(squares) == [0, 1, 4]
    assert len(CALLS) == 6


def test_a_job_that_failed_caches_nothing(env: StreamExecutionEnvironment) -> None:
    squares = env.from_collection([1, 2]).map(counted).cache()
    with pytest.raises(JobExecutionException):
        list(squares.map(lambda n: 1 / 0).execute_and_collect())
    CALLS.clear()
    assert collected(squares) == [1, 4]
    assert sorted(CALLS) == [1, 2]


def test_closing_the_environment_drops_the_records(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    squares = env.from_collection([1, 2]).map(counted).cache()
    assert collected(squares) == [1, 4]
    assert any(tmp_path.iterdir())
    env.close()
    assert not any(tmp_path.iterdir())
    assert collected(squares) == [1, 4]


def test_records_of_any_type_and_their_timestamps_are_cached(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([{"a": 1}, None, "x"]).cache()
    assert sorted(map(repr, stream.execute_and_collect())) == sorted(map(repr, stream.execute_and_collect()))


class Endless(SourceFunction):
    def run(self, ctx: Any) -> None: ...

    def cancel(self) -> None: ...


def test_what_cannot_be_cached_is_refused_at_the_users_line(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(PlanError, match=r"(?s)never ends.*at .*test_datastream_cache"):
        env.add_source(Endless()).cache()
    with pytest.raises(PlanError, match="before `key_by`"):
        env.from_collection([1]).key_by(lambda n: n).cache()
    with pytest.raises(PlanError, match=r"name: a cached stream is not an operator"):
        env.from_collection([1]).cache().name("x")


def test_a_cached_stream_is_cached(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).cache()
    assert stream.cache() is stream


def test_a_projection_keeps_fields_in_their_new_order(env: StreamExecutionEnvironment) -> None:
    tuples = env.from_collection([(1, "a", 2.0)], Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]))
    projected = tuples.project(2, 0)
    assert projected.get_type() == Types.TUPLE([Types.DOUBLE(), Types.INT()])
    assert list(projected.execute_and_collect()) == [(2.0, 1)]
    rows = env.from_collection([Row(1, "a")], Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()]))
    assert list(rows.key_by("n").project("s", 0).execute_and_collect()) == [Row(s="a", n=1)]


@pytest.mark.parametrize("fields", [(), (3,), (-1,), ("nope",), (True,)])
def test_a_projection_to_no_such_field_is_refused(env: StreamExecutionEnvironment, fields: tuple[Any, ...]) -> None:
    tuples = env.from_collection([(1, "a", 2.0)], Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]))
    with pytest.raises(PlanError, match=r"(?s)project: .*at .*test_datastream_cache"):
        tuples.project(*fields)
    with pytest.raises(PlanError, match="only tuples and rows"):
        env.from_collection([1]).project(0)
