"""The crash matrix on Spark, with real SIGKILL. `make soak` does the same for half an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.matrix_job import write_matrix_input
from faults.matrix_oracle import MatrixOracle
from faults.matrix_processes import MatrixProcess

pytestmark = [pytest.mark.spark, pytest.mark.faults]

SECONDS = 240
RESTARTS = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "20"}
LOCAL = {"spark.master": "local[2]", "execution.epoch.max-records": "30", **RESTARTS}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_matrix_input(tmp_path / "in")
    return tmp_path / "in"


def run(source: Path, options: dict[str, str], *, fail_points: str = "") -> tuple[int | None, str]:
    directory = source.parent / "run"
    process = MatrixProcess(
        source, directory, {**options, "state.local-dir": str(source.parent / "local")}, fail_points=fail_points
    )
    try:
        code = process.wait(SECONDS)
    finally:
        process.end()
    return code, (source.parent / "run.log").read_text()


def test_workers_in_every_part_of_an_epoch_and_then_the_jvm(source: Path) -> None:
    """A worker dies while it works, after it has staged output, while it publishes; the driver makes a new JVM."""
    steps = {
        "task.gathered@2": "once",
        "ledger.staged@1": "once",
        "ledger.inserted@1": "once",
        "ledger.committed@2": "executor",
    }
    marks = [source.parent / f"killed-{number}" for number in range(len(steps))]
    points = ";".join(f"{step}={kind}:{mark}" for (step, kind), mark in zip(steps.items(), marks, strict=True))
    code, log = run(source, LOCAL, fail_points=points)
    assert code == 0, log
    assert [mark.name for mark in marks if not mark.exists()] == [], "all of them are meant to be killed"
    assert "JVM is gone" in log
    assert "Cannot run multiple SparkContexts" not in log
    assert MatrixOracle(source).differences(source.parent / "run") == []
