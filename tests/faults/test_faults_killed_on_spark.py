"""Real SIGKILL on Spark: the driver, its JVM, a Python worker, an executor of a two-executor cluster."""

from __future__ import annotations

import pytest

from faults.processes import KILLED, run_job
from faults.rolling_job import expected, published, write_input

pytestmark = [pytest.mark.spark, pytest.mark.faults]

LOCAL = {"spark.master": "local[2]", "execution.epoch.max-records": "40"}
CLUSTER = {
    "spark.master": "local-cluster[2,1,1024]",
    "execution.epoch.max-records": "40",
    "spark.executor.memory": "1g",
}


def options_for(tmp_path, base):
    return {**base, "state.local-dir": str(tmp_path / "local")}


@pytest.mark.parametrize("step", ["action.after@2", "manifest.after@2"])
def test_a_killed_driver_goes_on_where_it_was(tmp_path, step):
    write_input(tmp_path / "in")
    options = options_for(tmp_path, LOCAL)
    killed = run_job(tmp_path, options=options, fail_points=f"{step}=kill", noise=True)
    assert killed.returncode == KILLED, killed.stderr
    finished = run_job(tmp_path, options=options, noise=True)
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")


@pytest.mark.parametrize("step", ["task.gathered@2", "task.state.staged@2"])
def test_a_killed_python_worker_costs_one_repeated_epoch(tmp_path, step):
    write_input(tmp_path / "in")
    marker = tmp_path / "killed"
    points = f"{step}=once:{marker}"
    finished = run_job(tmp_path, options=options_for(tmp_path, LOCAL), fail_points=points, noise=True)
    assert marker.exists(), "the worker was meant to be killed"
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")


@pytest.mark.parametrize("noise", [False, True], ids=["deterministic", "non-deterministic"])
@pytest.mark.parametrize("step", ["task.gathered@2", "task.state.staged@2"])
def test_a_killed_executor_is_replaced_within_the_run(tmp_path, step, noise):
    write_input(tmp_path / "in")
    marker = tmp_path / "killed"
    points = f"{step}=executor:{marker}"
    options = {**options_for(tmp_path, CLUSTER), "spark.executorEnv.PENSTOCK_FAIL_POINTS": points}
    finished = run_job(tmp_path, options=options, fail_points=points, noise=noise)
    assert marker.exists(), "the executor was meant to be killed"
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")


def test_a_dead_driver_jvm_is_one_clear_sentence_and_the_next_start_goes_on(tmp_path):
    write_input(tmp_path / "in")
    options = options_for(tmp_path, LOCAL)
    failed = run_job(tmp_path, options=options, fail_points=f"task.gathered@3=executor:{tmp_path / 'killed'}")
    assert failed.returncode == 1
    assert "JVM is gone" in failed.stderr
    finished = run_job(tmp_path, options=options)
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")
