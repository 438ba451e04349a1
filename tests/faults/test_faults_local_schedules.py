"""Crash schedules on the local engine: a seed decides at which steps of the protocol the driver dies, and how much an
epoch reads after it: from a part of one file to several, so that the number of source tasks varies.

The suite runs 200 of them, `make soak` thousands.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from faults.rolling_job import expected, published, start_job, write_input
from penstock.common import fail_points
from penstock.common.fail_points import SimulatedCrash
from penstock.state import state_files

OPTIONS = {"execution.engine": "local", "execution.epoch.max-records": "25", "state.retained-checkpoints": "3"}
SCHEDULES_PER_TEST = 100
BLOCKS = int(os.environ.get("PENSTOCK_CRASH_BLOCKS", "2"))
"""`make soak` runs 10, each of deterministic and of non-deterministic schedules."""


class CrashAtStep:
    """Raises at the n-th step, and at every later one: a dead process takes no more steps."""

    def __init__(self, step: int) -> None:
        self._left = step
        self.reached: list[str] = []

    def __call__(self, name: str) -> None:
        self.reached.append(name)
        self._left -= 1
        if self._left <= 0:
            raise SimulatedCrash(name)


def run_until_done(directory: Path, rng: random.Random, *, noise: bool, backend: str) -> int:
    """Starts the job again and again until it ends; returns how often it crashed."""
    crashes = 0
    while True:
        fail_points.arm(CrashAtStep(rng.randint(1, 60)) if crashes < 12 else None)
        varied = {"execution.epoch.max-records": str(rng.choice((10, 25, 45, 70)))}
        try:
            job = start_job(
                source=directory.parent / "in",
                sink=directory / "out",
                checkpoint=directory / "checkpoint",
                options={**OPTIONS, **varied, "state.backend": backend, "state.local-dir": str(directory / "local")},
                noise=noise,
            )
            job.wait(60)
        except SimulatedCrash:
            crashes += 1
        else:
            return crashes
        finally:
            fail_points.arm(None)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("schedules")
    write_input(directory / "in")
    return directory


@pytest.mark.parametrize("noise", [False, True], ids=["deterministic", "non-deterministic"])
@pytest.mark.parametrize("block", range(BLOCKS))
def test_any_schedule_of_crashes_loses_nothing_and_doubles_nothing(source, noise, block):
    oracle = expected(source / "in")
    crashes = 0
    for seed in range(block * SCHEDULES_PER_TEST, (block + 1) * SCHEDULES_PER_TEST):
        directory = source / f"{noise}-{seed}"
        backend = "lmdb" if seed % 10 == 0 else "memory"
        crashes += run_until_done(directory, random.Random(seed), noise=noise, backend=backend)
        assert published(directory / "out") == oracle, f"seed {seed}"
        shutil.rmtree(directory)
    assert crashes > SCHEDULES_PER_TEST, "the schedules are meant to crash more than once each"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_snapshots_beside_every_epoch_survive_crashes(source, monkeypatch):
    """A thread of the process that has crashed may still be at it when the job is started again."""
    monkeypatch.setattr(state_files, "_MAX_CHAIN", 1)
    oracle = expected(source / "in")
    made = 0
    for seed in range(30):
        directory = source / f"snapshots-{seed}"
        run_until_done(directory, random.Random(seed), noise=seed % 2 == 0, backend="lmdb")
        assert published(directory / "out") == oracle, f"seed {seed}"
        made += sum("-snapshot-" in path.name for path in (directory / "checkpoint/state").rglob("*"))
        shutil.rmtree(directory)
    assert made > 30


def test_a_crash_at_every_single_step_is_survived(source):
    oracle = expected(source / "in")
    counter = CrashAtStep(10**9)
    fail_points.arm(counter)
    start_job(
        source=source / "in", sink=source / "c/out", checkpoint=source / "c/checkpoint", options=OPTIONS, noise=False
    ).wait(60)
    fail_points.arm(None)
    assert set(counter.reached) >= {
        "takeover.after", "action.before", "action.after", "task.gathered", "task.state.staged",
        "commit.staged", "manifest.before", "manifest.after", "publish.before", "publish.sink", "publish.after",
    }  # fmt: skip
    for step in range(1, len(counter.reached) + 1):
        directory = source / f"step-{step}"
        for hook in (CrashAtStep(step), None):
            fail_points.arm(hook)
            try:
                start_job(
                    source=source / "in",
                    sink=directory / "out",
                    checkpoint=directory / "checkpoint",
                    options=OPTIONS,
                    noise=False,
                ).wait(60)
            except SimulatedCrash:
                assert hook is not None
            finally:
                fail_points.arm(None)
        assert published(directory / "out") == oracle, f"crash at step {step}, {counter.reached[step - 1]}"
