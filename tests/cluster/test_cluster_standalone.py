"""A real cluster: all programs run there, state stays where it is, a new machine takes some, a lost one is replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import standalone_operators
from cluster.standalone_cluster import StandaloneCluster
from cluster.standalone_operators import published, run_all
from faults.processes import kill_group
from penstock.engine.spark.class_archive import java_options

pytestmark = [pytest.mark.spark, pytest.mark.faults]

JOB = Path(__file__).with_name("standalone_job.py")
TESTS = JOB.parents[1]
FIRST, SECOND, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"
KEYS = 40
SECONDS = 180


def start(script: Path, directory: Path, cluster: StandaloneCluster) -> subprocess.Popen[bytes]:
    """A driver whose job runs on the cluster; what it says is in `driver.log`."""
    options = [
        f"spark.master={cluster.master}",
        "spark.driver.host=127.0.0.1",
        "spark.driver.bindAddress=127.0.0.1",
        "spark.executor.memory=512m",
        f"spark.executor.extraJavaOptions={java_options()}",
        f"spark.pyspark.python={sys.executable}",
        "state.local-dir=$MACHINE_DISK/state",
        "spark.locality.wait=10s",
    ]
    environment = {**os.environ, "MACHINE_DISK": str(directory / "disk-driver"), "PYTHONPATH": str(TESTS)}
    with (directory / "driver.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, str(script), str(directory), *options],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


class ClusterRun:
    """The job, fed with one file an epoch."""

    def __init__(self, directory: Path, cluster: StandaloneCluster) -> None:
        self.directory = directory
        self._files = 0
        (directory / "in").mkdir()
        self.process = start(JOB, directory, cluster)

    def epoch(self) -> list[dict[str, Any]]:
        """The results of one more file."""
        number, self._files = self._files, self._files + 1
        lines = "".join(json.dumps({"k": key, "file": number}) + "\n" for key in range(KEYS))
        hidden = self.directory / f".{number}"
        hidden.write_text(lines)
        hidden.rename(self.directory / "in" / f"{number:04d}.json")
        deadline = time.monotonic() + SECONDS
        while len(found := [row for row in self.results() if row["file"] == number]) < KEYS:
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"{len(found)} results\n{self.log()}"
            time.sleep(0.05)
        return found

    def machines(self) -> dict[int, str]:
        """Where each subtask was in one more epoch."""
        return {row["subtask"]: row["machine"].removeprefix("disk-") for row in self.epoch()}

    def changes_of_process(self, epochs: int) -> int:
        """How often a subtask went on in another process in the last epochs: a machine that is busy may have two."""
        processes: dict[int, dict[int, int]] = {}
        for row in self.results():
            processes.setdefault(row["subtask"], {})[row["file"]] = row["process"]
        last = range(self._files - epochs, self._files)
        return sum(each[file] != each[file - 1] for each in processes.values() for file in last)

    def results(self) -> list[dict[str, Any]]:
        paths = sorted((self.directory / "out").glob("*.json"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def moves(self) -> int:
        """How often state was fetched, up to the last epoch."""
        deadline = time.monotonic() + SECONDS
        while (metrics := json.loads((self.directory / "metrics.json").read_text()))["epochs"] < self._files:
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)
        return metrics["state_moves"]

    def stop(self) -> None:
        (self.directory / "stop").touch()
        assert self.process.wait(SECONDS) == 0, self.log()

    def log(self) -> str:
        return (self.directory / "driver.log").read_text(errors="replace")

    def end(self) -> None:
        kill_group(self.process)  # type: ignore[arg-type]
        self.process.wait(SECONDS)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    try:
        for host in (FIRST, SECOND):
            cluster.add_worker(host)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def run(tmp_path: Path, cluster: StandaloneCluster) -> Iterator[ClusterRun]:
    run = ClusterRun(tmp_path, cluster)
    yield run
    run.end()


def until_even(run: ClusterRun, *hosts: str) -> dict[int, str]:
    """Epochs until all of these machines have their share of the four subtasks, twice the same; where those are.

    The first epoch may have begun when only one machine was there.
    """
    share = -(-4 // len(hosts))
    machines: dict[int, str] = {}
    for _ in range(40):
        before, machines = machines, run.machines()
        counts = Counter(machines.values())
        if machines == before and set(counts) == set(hosts) and max(counts.values()) <= share:
            return machines
    raise AssertionError(f"{hosts} do not have their shares: {machines}; {run.log()}")


def test_the_programs_of_the_conformance_tests_give_what_they_give_without_a_cluster(tmp_path, cluster):
    local = tmp_path / "local"
    process = start(Path(standalone_operators.__file__), tmp_path, cluster)
    try:
        run_all(local, "execution.engine=local")
        assert process.wait(SECONDS) == 0, (tmp_path / "driver.log").read_text(errors="replace")
    finally:
        kill_group(process)  # type: ignore[arg-type]
    assert published(local)
    assert published(tmp_path) == published(local)


def test_state_stays_on_its_machine_a_new_one_takes_some_and_a_lost_executor_is_replaced(run, cluster):
    places = until_even(run, FIRST, SECOND)
    moves = run.moves()
    assert [run.machines() for _ in range(4)] == [places] * 4
    assert run.moves() - moves <= run.changes_of_process(4), "nothing was read from the checkpoint"
    cluster.add_worker(THIRD)
    with_third = until_even(run, FIRST, SECOND, THIRD)
    assert sum(with_third[subtask] != places[subtask] for subtask in places) == 1, "only what the new machine takes"
    places = with_third
    killed = cluster.kill_executor(SECOND)
    lost = {subtask for subtask in places if places[subtask] == SECOND}
    after = run.machines()
    assert {subtask: host for subtask, host in after.items() if subtask not in lost} == {
        subtask: host for subtask, host in places.items() if subtask not in lost
    }
    run.machines()
    cluster.wait_for_executor(SECOND, other_than=killed)
    run.stop()
    counts = sorted((row["file"], row["k"], row["n"]) for row in run.results())
    files = max(file for file, _, _ in counts) + 1
    assert counts == [(file, key, file + 1) for file in range(files) for key in range(KEYS)]
    closed = {int(path.name.split("-")[1]) for path in run.directory.glob("closed-*")}
    assert closed == {0, 1, 2, 3}, "functions are closed where they last worked"
    left = {path.parents[1].name for path in cluster.directory.glob("disk-*/state/*")}
    assert left <= {f"disk-{SECOND}"}, "machines forget the state of a job that ended, if they have an executor then"
