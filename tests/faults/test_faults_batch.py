"""A batch job that dies: whatever step it had come to, it is run from its beginning, and the sink shows it once."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.crash_schedules import CrashAtStep
from faults.rolling_job import expected, published, start_job, write_input
from penstock.common import fail_points
from penstock.common.fail_points import SimulatedCrash
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.local.executor import LocalStageExecutor

OPTIONS = {"execution.engine": "local", "execution.runtime-mode": "BATCH", "execution.gather-memory": "2 kb"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_input(tmp_path / "in")
    return tmp_path


def run(source: Path, name: str, *, noise: bool = True) -> None:
    start_job(
        source=source / "in",
        sink=source / name / "out",
        checkpoint=source / name / "checkpoint",
        options=OPTIONS,
        noise=noise,
    ).wait(60)


def test_a_crash_at_every_single_step_is_survived(source):
    oracle = expected(source / "in")
    counter = CrashAtStep(10**9)
    fail_points.arm(counter)
    run(source, "whole")
    fail_points.arm(None)
    assert set(counter.reached) >= {
        "action.before", "task.read", "task.gathered", "action.after", "manifest.before", "manifest.after",
        "publish.sink",
    }  # fmt: skip
    assert "task.state.staged" not in counter.reached, "batch execution keeps no state"
    for step in range(1, len(counter.reached) + 1):
        for hook in (CrashAtStep(step), None):
            fail_points.arm(hook)
            try:
                run(source, f"step-{step}")
            except SimulatedCrash:
                assert hook is not None
            finally:
                fail_points.arm(None)
        assert published(source / f"step-{step}" / "out") == oracle, f"step {step}, {counter.reached[step - 1]}"


def test_an_epoch_that_the_engine_lost_after_its_work_is_run_again_from_the_beginning(source, monkeypatch):
    run_epoch = LocalStageExecutor.run
    lost: list[int] = []

    def lose_twice(self, header, tasks):
        results = run_epoch(self, header, tasks)
        if len(lost) < 2:
            lost.append(header.run)
            raise ExecutionFailedError("the executor is gone")
        return results

    monkeypatch.setattr(LocalStageExecutor, "run", lose_twice)
    run(source, "lost")
    assert lost == [0, 1]
    assert published(source / "lost" / "out") == expected(source / "in")


def test_a_job_that_has_ended_does_nothing_when_it_is_started_again(source, monkeypatch):
    run(source, "twice")

    def fail(self, header, tasks):
        raise ExecutionFailedError("no epoch is expected")

    monkeypatch.setattr(LocalStageExecutor, "run", fail)
    run(source, "twice")
    assert published(source / "twice" / "out") == expected(source / "in")
