"""Crashes of a deterministic job on the local engine: by seeded schedules, and at every single step."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.crash_schedules import BLOCKS, OPTIONS, CrashAtStep, run_block
from faults.rolling_job import expected, published, start_job, write_input
from penstock.common import fail_points
from penstock.common.fail_points import SimulatedCrash


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("schedules")
    write_input(directory / "in")
    return directory


@pytest.mark.parametrize("block", BLOCKS)
def test_any_schedule_of_crashes_loses_nothing_and_doubles_nothing(source, block):
    run_block(source, block, noise=False)


def test_a_crash_at_every_single_step_is_survived(source):
    oracle = expected(source / "in")
    counter = CrashAtStep(10**9)
    fail_points.arm(counter)
    start_job(
        source=source / "in", sink=source / "c/out", checkpoint=source / "c/checkpoint", options=OPTIONS, noise=False
    ).wait(60)
    fail_points.arm(None)
    assert set(counter.reached) >= {
        "takeover.after", "action.before", "action.after", "task.read", "task.gathered", "task.state.staged",
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
