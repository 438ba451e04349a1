"""Crashes of a job that gives other output at each attempt, on the local engine, by seeded schedules."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from faults.crash_schedules import BLOCKS, run_block, run_until_done
from faults.rolling_job import expected, published, write_input
from penstock.state import state_files


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("schedules")
    write_input(directory / "in")
    return directory


@pytest.mark.parametrize("block", BLOCKS)
def test_any_schedule_of_crashes_loses_nothing_and_doubles_nothing(source, block):
    run_block(source, block, noise=True)


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
