"""The programs of the conformance scenarios give in pipelined mode what they give in epochs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import test_conformance_cep, test_conformance_joins, test_conformance_windows
from conformance.operators import OPERATORS
from conformance.window_operators import WINDOWS
from faults.processes import kill_group
from penstock.common import JobExecutionException, WatermarkStrategy
from penstock.common.errors import UnsupportedError
from penstock.connectors.files import FileSink
from penstock.datastream import DataStream, StreamExecutionEnvironment
from pipelined import all_operators
from pipelined.all_operators import CANNOT_RUN, FOLLOWED, ON_SPARK, results, run_all
from pipelined.list_source import spread_collections
from pipelined.local_pipelined import environment
from pipelined.order_of_arrival import FACTS
from services.modules_of_tests import python_path

pytestmark = pytest.mark.usefixtures("virtual_time", "spread_over_epochs")

AT_THE_END = "1 h"
"""Watermarks come at the end of an epoch, as they do in epochs."""
AS_TIME_PASSES = "1 ms"
IN_EVENT_TIME = ["event-time timers", *WINDOWS]
SECONDS = 240


@pytest.fixture(scope="module")
def spread_over_epochs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        spread_collections(patch)
        yield


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """In memory where the system has a place for that: a run waits for dozens of disk writes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as path:
        yield Path(path)


def job(latency: str, directory: Path, interval: str) -> StreamExecutionEnvironment:
    return environment(
        latency,
        **{"execution.checkpointing.dir": str(directory / "checkpoint"), "pipeline.auto-watermark-interval": interval},
    )


def without_a_failure(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "power is back").touch()
    return directory


@pytest.fixture(scope="module")
def in_epochs(directory: Path, virtual_time: None, spread_over_epochs: None) -> dict[str, Counter[str]]:
    place = without_a_failure(directory / "epochs")
    run_all(job("epochs", place, AT_THE_END), place)
    return results(place)


@pytest.fixture(scope="module")
def pipelined(directory: Path, virtual_time: None, spread_over_epochs: None) -> dict[str, Counter[str]]:
    place = directory / "pipelined"
    with pytest.raises(JobExecutionException, match="power cut"):
        run_all(job("pipelined", place, AT_THE_END), place)
    assert results(place), "some epochs were committed before"
    (place / "power is back").touch()
    run_all(job("pipelined", place, AT_THE_END), place)
    return results(place)


@pytest.mark.parametrize("operator", FOLLOWED)
def test_every_program_with_a_restart_in_the_middle(
    operator: str, in_epochs: dict[str, Counter[str]], pipelined: dict[str, Counter[str]]
) -> None:
    assert in_epochs[operator]
    assert pipelined[operator] == in_epochs[operator]


@pytest.fixture(scope="module")
def as_time_passes(directory: Path, virtual_time: None, spread_over_epochs: None) -> dict[str, Counter[str]]:
    place = without_a_failure(directory / "as time passes")
    run_all(job("pipelined", place, AS_TIME_PASSES), place, IN_EVENT_TIME)
    return results(place)


@pytest.mark.parametrize("operator", IN_EVENT_TIME)
def test_watermarks_that_come_within_epochs(
    operator: str, in_epochs: dict[str, Counter[str]], as_time_passes: dict[str, Counter[str]]
) -> None:
    assert as_time_passes[operator] == in_epochs[operator]


@pytest.mark.parametrize("operator", CANNOT_RUN)
def test_what_cannot_run_says_why(operator: str, tmp_path: Path) -> None:
    env = job("pipelined", tmp_path, AT_THE_END)
    OPERATORS[operator](env).print()
    with pytest.raises(UnsupportedError, match=CANNOT_RUN[operator]):
        env.execute()


def test_facts_are_of_programs_that_there_are() -> None:
    assert FACTS.keys() <= OPERATORS.keys()


# --- scenarios that know their answer


def stamped(env: StreamExecutionEnvironment, records: Any, record_type: Any, assigner: Any) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner(assigner)
    return env.from_collection(records, record_type).assign_timestamps_and_watermarks(strategy)


def published(stream: DataStream, directory: Path, switch: Path) -> list[tuple[Any, ...]]:
    stream.sink_to(FileSink(str(directory / "out"), "json"))
    env = stream.get_execution_environment()
    if not switch.exists():
        with pytest.raises(JobExecutionException, match="power cut"):
            env.execute()
        switch.touch()
        return []
    env.execute()
    lines = [line for path in (directory / "out").glob("*.json") for line in path.read_text().splitlines()]
    return [tuple(json.loads(line).values()) for line in lines]


def test_joins_with_a_restart_in_the_middle(tmp_path: Path) -> None:
    scenario, switch = test_conformance_joins, tmp_path / "power is back"
    for _ in range(2):
        env = job("pipelined", tmp_path, AS_TIME_PASSES)
        left, right = (
            stamped(env, records, scenario.RECORD, scenario.Time()) for records in (scenario.LEFT, scenario.RIGHT)
        )
        found = published(scenario.joins(left, right, switch), tmp_path, switch)
    assert scenario.by_text(found) == scenario.by_text(scenario.expected())


def test_windows_of_records_and_of_columns_with_a_restart_in_the_middle(tmp_path: Path) -> None:
    scenario, switch = test_conformance_windows, tmp_path / "power is back"
    for _ in range(2):
        env = job("pipelined", tmp_path, AS_TIME_PASSES)
        # One channel: an evictor keeps what came last.
        stream = stamped(env, scenario.RECORDS, scenario.RECORD_TYPE, "f2").set_parallelism(1)
        found = published(scenario.windows(stream, switch), tmp_path, switch)
    assert sorted(found) == sorted(scenario.expected())


def test_patterns_with_a_restart_in_the_middle(tmp_path: Path) -> None:
    scenario, switch = test_conformance_cep, tmp_path / "power is back"
    names = list(scenario.patterns())
    for _ in range(2):
        env = job("pipelined", tmp_path, AS_TIME_PASSES)
        # One channel: events of the same time are in the order in which they came.
        stream = stamped(env, scenario.EVENTS, scenario.EVENT, scenario.Time()).set_parallelism(1)
        found = published(scenario.searched(stream, names, switch), tmp_path, switch)
    assert sorted(found) == sorted(scenario.expected(names))


# --- on Spark


@pytest.mark.spark
def test_some_of_each_kind_on_spark_with_a_restart(tmp_path: Path, in_epochs: dict[str, Counter[str]]) -> None:
    script = Path(all_operators.__file__)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": python_path()},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=SECONDS)
    finally:
        kill_group(process)
    assert process.returncode == 0, errors
    assert (tmp_path / "power is back").exists(), "it went on in the middle"
    assert results(tmp_path) == {operator: in_epochs[operator] for operator in ON_SPARK}
    assert {path.name for path in (tmp_path / "closed").iterdir()} == set(ON_SPARK), "functions were closed"
