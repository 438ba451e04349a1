"""Real SIGKILL to the driver process at every step of the protocol, then the same program started again."""

from __future__ import annotations

import pytest

from faults.processes import KILLED, run_job
from faults.rolling_job import expected, published, write_input

LOCAL = {"execution.engine": "local", "state.backend": "lmdb", "execution.epoch.max-records": "25"}
STEPS = [
    "takeover.after@1",
    "action.before@2",
    "task.gathered@3",
    "task.state.staged@3",
    "action.after@2",
    "commit.staged@5",
    "manifest.before@2",
    "manifest.after@2",
    "publish.before@2",
    "publish.sink@2",
    "publish.after@2",
]


@pytest.mark.parametrize("noise", [False, True], ids=["deterministic", "non-deterministic"])
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_killed_at_any_step_goes_on_where_it_was(tmp_path, step, noise):
    write_input(tmp_path / "in")
    options = {**LOCAL, "state.local-dir": str(tmp_path / "local")}
    killed = run_job(tmp_path, options=options, fail_points=f"{step}=kill", noise=noise)
    assert killed.returncode == KILLED, killed.stderr
    finished = run_job(tmp_path, options=options, noise=noise)
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")


def test_a_finished_job_started_again_only_publishes(tmp_path):
    write_input(tmp_path / "in")
    options = {**LOCAL, "state.local-dir": str(tmp_path / "local")}
    for _ in range(2):
        assert run_job(tmp_path, options=options).returncode == 0
        assert published(tmp_path / "out") == expected(tmp_path / "in")
