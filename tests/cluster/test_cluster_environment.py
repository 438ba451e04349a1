"""Executors whose Python is not the driver's: what has to get there gets there, and what is missing is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.executor_environment import executor_python, packed_environment
from faults.processes import kill_group
from penstock.engine.spark.class_archive import java_options

pytestmark = pytest.mark.spark

MODULE_JOB = Path(__file__).with_name("module_job.py")
MODULE = MODULE_JOB.with_name("worker_facts.py")
SECONDS = 400
# Nothing of the driver's environment reaches executors by way of environment variables.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}


@pytest.fixture(scope="module")
def python() -> Path:
    """The executors' interpreter, which knows neither Penstock nor PySpark."""
    interpreter = executor_python()
    for package in ("penstock", "pyspark"):
        found = subprocess.run(
            [str(interpreter), "-c", f"import {package}"], env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        assert f"No module named '{package}'" in found.stderr
    return interpreter


def options_for(python: Path | str, directory: Path, executors: int = 2) -> list[str]:
    return [
        f"spark.master=local-cluster[{executors},1,1024]",
        "spark.executor.memory=1g",
        f"spark.executor.extraJavaOptions={java_options()}",
        f"spark.pyspark.python={python}",
        f"state.local-dir={directory / 'local'}",
    ]


def run_driver(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a driver to its end, and leaves none of its processes behind."""
    process = subprocess.Popen(
        [sys.executable, *command],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=SECONDS)
    finally:
        kill_group(process)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


@pytest.mark.usefixtures("python")
def test_a_keyed_job_runs_in_an_environment_that_is_sent_along_with_the_module_beside_it(tmp_path):
    sent = [f"spark.archives={packed_environment()}#environment", f"spark.submit.pyFiles={MODULE}"]
    options = [*options_for("./environment/bin/python", tmp_path), *sent, "execution.epoch.max-records=12"]
    done = run_driver(str(MODULE_JOB), str(tmp_path / "out"), *options, "execution.runtime-mode=STREAMING")
    assert done.returncode == 0, done.stderr
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    numbers, counts, prefixes, origins = zip(*(json.loads(line).split("|") for line in lines), strict=True)
    for application in {Path(prefix).parents[1] for prefix in prefixes}:
        # Spark keeps the folders of executors, with the unpacked environment in each.
        assert application.name.startswith("app-")
        shutil.rmtree(application)
    # Which of the records of a key comes first is nobody's promise: there are two readers.
    counted = [(int(number) % 3, int(count)) for number, count in zip(numbers, counts, strict=True)]
    assert sorted(map(int, numbers)) == list(range(1, 31))
    assert sorted(counted) == [(key, count) for key in range(3) for count in range(1, 11)]
    assert {Path(prefix).name for prefix in prefixes} == {"environment"}
    assert all("penstock.zip" in origin for origin in origins)


def test_a_module_that_was_left_behind_is_named_with_the_cure(tmp_path, python):
    options = options_for(python, tmp_path, executors=1)
    done = run_driver(str(MODULE_JOB), str(tmp_path / "out"), *options)
    assert done.returncode == 1
    assert "No module named 'worker_facts'" in done.stderr
    assert "spark.submit.pyFiles" in done.stderr
    assert "run again" not in done.stderr, "another try would end the same way"
