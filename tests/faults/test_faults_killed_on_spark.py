"""Real SIGKILL on Spark: the driver, its JVM, a Python worker, an executor of a two-executor cluster."""

from __future__ import annotations

import pytest

from faults.processes import KILLED, run_job
from faults.rolling_job import expected, published, write_input
from penstock.engine.spark.class_archive import java_options

pytestmark = [pytest.mark.spark, pytest.mark.faults]

LOCAL = {"spark.master": "local[2]", "execution.epoch.max-records": "40"}
CLUSTER = {
    "spark.master": "local-cluster[2,1,1024]",
    # Both executors have a part of every stage: without a greatest number of cores Spark waits for none of them.
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "execution.epoch.max-records": "100",
    "spark.executor.memory": "1g",
    "spark.executor.extraJavaOptions": java_options(),
}


def options_for(tmp_path, base):
    return {**base, "state.local-dir": str(tmp_path / "local")}


def test_drivers_and_jvms_that_die_one_after_the_other_go_on_where_they_were(tmp_path):
    write_input(tmp_path / "in", files=9)
    options = options_for(tmp_path, LOCAL)
    for step in ("action.after@2", "manifest.after@2"):
        killed = run_job(tmp_path, options=options, fail_points=f"{step}=kill", noise=True)
        assert killed.returncode == KILLED, killed.stderr
    without_jvm = run_job(tmp_path, options=options, fail_points=f"task.gathered@1=executor:{tmp_path / 'killed'}")
    assert without_jvm.returncode == 1
    assert "JVM is gone" in without_jvm.stderr
    finished = run_job(tmp_path, options=options, noise=True)
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")


def test_killed_python_workers_cost_a_repeated_epoch_each(tmp_path):
    write_input(tmp_path / "in")
    steps = ["task.gathered@2", "task.state.staged@3"]
    points = ";".join(f"{step}=once:{tmp_path / step}" for step in steps)
    finished = run_job(tmp_path, options=options_for(tmp_path, LOCAL), fail_points=points, noise=True)
    assert [step for step in steps if not (tmp_path / step).exists()] == [], "workers were meant to be killed"
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")


@pytest.mark.parametrize("noise", [False, True], ids=["deterministic", "non-deterministic"])
def test_killed_executors_are_replaced_within_the_run(tmp_path, noise):
    """Spark repeats what was lost; where that gives other bytes than tasks have already used, all of the epoch is.

    The first dies in the last of three stages: of four subtasks on two cores some have ended when the last one begins.
    With it goes a part of what the second stage sent, in which noise decides where a record goes. Another dies later,
    at the end of the first stage.
    """
    write_input(tmp_path / "in", records=50, keys=40)
    steps = {"last": "program.forward.3@1", "first": "task.read@5"}
    points = ";".join(f"{step}=executor:{tmp_path / stage}" for stage, step in steps.items())
    options = {**options_for(tmp_path, CLUSTER), "spark.executorEnv.PENSTOCK_FAIL_POINTS": points}
    arguments = ["--exchange-noise", "--parallelism", "4"]
    finished = run_job(tmp_path, options=options, fail_points=points, noise=noise, arguments=arguments)
    assert [stage for stage in steps if not (tmp_path / stage).exists()] == [], "executors were meant to be killed"
    assert finished.returncode == 0, finished.stderr
    assert published(tmp_path / "out") == expected(tmp_path / "in")
    assert ("indeterminate output" in finished.stderr) == noise, (
        f"Spark is meant to see the other bytes, where there are any:\n{finished.stderr}"
    )
