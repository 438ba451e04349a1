"""The crash matrix on the local engine: any schedule of faults, with virtual time; hypothesis shrinks what breaks it.

PENSTOCK_MATRIX_EXAMPLES tries more schedules than the suite has time for, --hypothesis-seed=... others.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.matrix_faults import KINDS, OPTIONS, Fault, Schedule, run_schedule
from faults.matrix_job import start_matrix_job, write_matrix_input
from faults.matrix_oracle import MatrixOracle
from penstock.common import fail_points
from penstock.common.fail_points import SimulatedCrash
from penstock.testing import VirtualClock

EXAMPLES = int(os.environ.get("PENSTOCK_MATRIX_EXAMPLES", "0"))
IN_SUITE = 60
LAST_STEP = {"crash": 250, "torn": 60, "full": 60, "program": 80, "connection": 10, "lost": 8, "unreachable": 8}

happened: Counter[str] = Counter()


def faults() -> st.SearchStrategy[Fault]:
    return st.sampled_from(sorted(KINDS)).flatmap(
        lambda kind: st.integers(1, LAST_STEP.get(kind, 100)).map(lambda step: Fault(kind, step))
    )


schedules = st.lists(st.lists(faults(), min_size=1, max_size=4), max_size=5)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("matrix")
    write_matrix_input(directory / "in")
    return directory


def check(place: Path, schedule: Schedule, backend: str) -> None:
    directory = place / "run"
    try:
        happened.update(run_schedule(place / "in", directory, schedule, backend=backend))
        assert MatrixOracle(place / "in").differences(directory) == []
        assert not list((directory / "checkpoint").rglob(".tmp-torn-*")), "half-written files are removed"
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@settings(
    max_examples=EXAMPLES or IN_SUITE,
    derandomize=not EXAMPLES,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(schedule=schedules, backend=st.sampled_from(["memory", "lmdb"]))
def test_any_schedule_of_faults_loses_nothing_and_doubles_nothing(
    place: Path, schedule: Schedule, backend: str
) -> None:
    check(place, schedule, backend)


@pytest.mark.parametrize("publishing", [1, 3])
def test_sinks_are_at_most_one_epoch_apart_and_together_after_the_restart(place: Path, publishing: int) -> None:
    """The driver dies when tables have an epoch and directories do not."""
    directory, left = place / "run", [publishing]

    def die(name: str) -> None:
        left[0] -= name == "publish.tasks"
        if left[0] <= 0:
            raise SimulatedCrash(name)

    try:
        fail_points.arm(die)
        with pytest.raises(SimulatedCrash):
            start_matrix_job(place / "in", directory, OPTIONS, clock=VirtualClock()).wait(60)
        fail_points.arm(None)
        in_files = {int(path.stem.split("-")[-2]) for path in (directory / "sums").glob("*.json")}
        with closing(sqlite3.connect(directory / "sums.db")) as connection:
            found = connection.execute("SELECT DISTINCT epoch FROM records").fetchall()
        in_table = {int(epoch.rpartition(".")[2]) for (epoch,) in found}
        assert in_table - in_files == {max(in_table)}
        assert not in_files - in_table
        start_matrix_job(place / "in", directory, OPTIONS, clock=VirtualClock()).wait(60)
        assert MatrixOracle(place / "in").differences(directory) == []
    finally:
        fail_points.arm(None)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_fault_strikes_and_is_survived(place: Path, kind: str) -> None:
    """At an early, a middle and a late step."""
    before = happened[kind]
    last = LAST_STEP.get(kind, 100)
    crash = [Fault("crash", 120)] if kind == "new machine" else []
    for step in (2, last // 4 or 1, last // 2):
        check(place, [crash, [Fault(kind, step)]] if crash else [[Fault(kind, step)]], "lmdb")
    assert happened[kind] > before, "the fault is meant to happen"
