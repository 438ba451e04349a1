"""The parts of a soak that need no JVM."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from pathlib import Path

from soak_results import SoakResults

from faults.matrix_faults import KINDS, Fault, run_schedule
from faults.matrix_job import write_matrix_input
from faults.matrix_oracle import MatrixOracle
from faults.matrix_processes import MatrixProcess

_LAST_STEP = {"crash": 250, "torn": 60, "full": 60, "program": 80, "connection": 10, "lost": 8, "unreachable": 8}
_SIMULATED = "local engine, virtual time"
_PROCESSES = "local engine, processes"
_OPTIONS = {
    "execution.engine": "local",
    "state.backend": "lmdb",
    "execution.epoch.max-records": "40",
    "logging.level": "warning",
}
_POINTS = [
    "takeover.after", "action.before", "task.read", "task.gathered", "sink.files.staged", "ledger.staged",
    "task.state.staged", "action.after", "manifest.before", "manifest.after", "publish.before", "publish.task.before",
    "ledger.inserted", "ledger.committed", "publish.task.after", "publish.tasks", "sink.files.renamed",
    "sink.files.marked", "publish.sink", "publish.after",
]  # fmt: skip


def in_memory() -> str | None:
    """Where files cost no disk, if there is such a place."""
    memory = "/dev/shm"  # noqa: S108
    return memory if Path(memory).is_dir() else None


def run_local_schedules(results: SoakResults, rng: random.Random, until: float) -> None:
    """Random schedules of simulated faults, one after the other."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as place:
        source, directory = Path(place, "in"), Path(place, "run")
        write_matrix_input(source)
        oracle = MatrixOracle(source)
        while time.monotonic() < until:
            schedule = [[_fault(rng) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 6))]
            try:
                for kind, count in run_schedule(
                    source, directory, schedule, backend=rng.choice(["memory", "lmdb"])
                ).items():
                    results.struck(_SIMULATED, KINDS[kind], count)
                differences = oracle.differences(directory)
            except Exception as error:
                differences = [f"{type(error).__name__}: {error}"]
            results.schedules += 1
            results.ended(_SIMULATED, differences, repr(schedule))
            shutil.rmtree(directory, ignore_errors=True)


def _fault(rng: random.Random) -> Fault:
    kind = rng.choice(sorted(KINDS))
    return Fault(kind, rng.randint(1, _LAST_STEP.get(kind, 100)))


def kill_local_drivers(results: SoakResults, rng: random.Random, until: float) -> None:
    """Drivers that kill themselves with SIGKILL at a named step, started again until the job has ended."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as place:
        source = Path(place, "in")
        write_matrix_input(source, files=6, records=30)
        oracle = MatrixOracle(source)
        number = 0
        while time.monotonic() < until:
            number += 1
            directory = Path(place, f"run-{number}")
            code = _run_with_kills(results, rng, source, directory)
            differences = oracle.differences(directory)
            if code != 0:
                log = Path(place, f"run-{number}.log").read_text().splitlines()
                differences = [f"ended with {code}: {log[-1:]}", *differences]
            results.ended(_PROCESSES, differences, f"run {number}")
            shutil.rmtree(directory, ignore_errors=True)


def _run_with_kills(results: SoakResults, rng: random.Random, source: Path, directory: Path) -> int | None:
    options = {**_OPTIONS, "state.local-dir": str(directory / "local")}
    code: int | None = None
    for kills in range(5):
        point = rng.choice(_POINTS)
        fail_points = f"{point}@{rng.randint(1, 4)}=kill" if kills < 4 else ""
        process = MatrixProcess(source, directory, options, fail_points=fail_points)
        try:
            code = process.wait(60)
        finally:
            process.end()
        if code != -9:
            break
        results.struck(_PROCESSES, f"SIGKILL to the driver at `{point}`")
    return code
