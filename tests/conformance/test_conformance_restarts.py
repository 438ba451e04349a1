"""Every operator gives the same records whether its job runs through, or dies on the way and is started again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from conformance import operator_inputs, operators, window_operators
from conformance.operators import OPERATORS, Labelled
from penstock.common import Configuration, Types, fail_points
from penstock.common.errors import JobExecutionException
from penstock.common.fail_points import SimulatedCrash
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment

for module in (operator_inputs, operators, window_operators):
    cloudpickle.register_pickle_by_value(module)  # Spark's workers have it under no name

CRASHES = ("record emitted", "task.state.staged", "manifest.after")
"""In the middle of an epoch, at its end before the commit, and between two epochs."""


class CrashInTheMiddle:
    """Raises at the n-th time that a point is reached; counts."""

    def __init__(self, point: str = "", at: int = 0) -> None:
        self._point = point
        self._at = at
        self.reached: Counter[str] = Counter()

    def __call__(self, name: str) -> None:
        self.reached[name] += 1
        if name == self._point and self.reached[name] >= self._at:
            raise SimulatedCrash(name)


def reached(record: Any) -> Any:
    fail_points.reach("record emitted")
    return record


def environment(engine: str, mode: str, directory: Path, records_per_epoch: int) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in {
        "execution.engine": engine,
        "execution.runtime-mode": mode,
        "execution.checkpointing.dir": str(directory / "checkpoint"),
        "execution.epoch.max-records": str(records_per_epoch),
    }.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def run(build: Any, directory: Path, mode: str, hook: CrashInTheMiddle) -> None:
    env = environment("local", mode, directory, records_per_epoch=12)
    build(env).map(reached, Types.PICKLED_BYTE_ARRAY()).sink_to(FileSink(str(directory / "out"), "text"))
    fail_points.arm(hook)
    try:
        env.execute()
    finally:
        fail_points.arm(None)


def published(directory: Path) -> Counter[str]:
    return Counter(line for path in (directory / "out").glob("*.txt") for line in path.read_text().splitlines())


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_crash_changes_nothing(operator: str, mode: str, tmp_path: Path) -> None:
    build = OPERATORS[operator]
    counter = CrashInTheMiddle()
    run(build, tmp_path / "through", mode, counter)
    expected = published(tmp_path / "through")
    assert expected
    for point in CRASHES:
        if counter.reached[point]:
            crashed = tmp_path / point
            with pytest.raises(SimulatedCrash):
                run(build, crashed, mode, CrashInTheMiddle(point, (counter.reached[point] + 1) // 2))
            run(build, crashed, mode, CrashInTheMiddle())
            assert published(crashed) == expected, f"a crash at '{point}'"


def run_all(engine: str, mode: str, directory: Path) -> None:
    """All operators in one job; the epochs are as many as those of one operator alone."""
    env = environment(engine, mode, directory, records_per_epoch=12 * len(OPERATORS))
    labelled = [
        build(env).map(Labelled(operator, directory, at_once=mode == "BATCH"), Types.STRING())
        for operator, build in OPERATORS.items()
    ]
    labelled[0].union(*labelled[1:]).sink_to(FileSink(str(directory / "out"), "text"))
    env.execute()


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_all_operators_in_one_job_on_spark_with_a_restart(mode: str, tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "power is back").touch()
    run_all("local", mode, tmp_path / "local")
    with pytest.raises(JobExecutionException, match="power cut"):
        run_all("spark", mode, tmp_path / "spark")
    (tmp_path / "spark" / "power is back").touch()
    run_all("spark", mode, tmp_path / "spark")
    assert published(tmp_path / "spark") == published(tmp_path / "local")
