"""A job on a standalone cluster, fed with one round of records after the other, and where its subtasks are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from cluster.standalone_cluster import StandaloneCluster
from faults.processes import kill_group
from penstock.engine.spark.class_archive import java_options
from services.modules_of_tests import python_path

KEYS = 40
SECONDS = 180


def start(script: Path, directory: Path, cluster: StandaloneCluster, *more: str) -> subprocess.Popen[bytes]:
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
        *more,
    ]
    environment = {**os.environ, "MACHINE_DISK": str(directory / "disk-driver"), "PYTHONPATH": python_path()}
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

    script = Path(__file__).with_name("standalone_job.py")

    def __init__(self, directory: Path, cluster: StandaloneCluster, *options: str) -> None:
        self.directory = directory
        self._files = 0
        (directory / "in").mkdir()
        self.prepare()
        self.process = start(self.script, directory, cluster, *options)

    def prepare(self) -> None:
        """What has to be there when the job starts."""

    def epoch(self) -> list[dict[str, Any]]:
        """The results of one more file."""
        number, self._files = self._files, self._files + 1
        self.feed(number, [json.dumps({"k": key, "file": number}) + "\n" for key in range(KEYS)])
        deadline = time.monotonic() + SECONDS
        while len(found := [row for row in self.results() if row["file"] == number]) < KEYS:
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"{len(found)} results\n{self.log()}"
            time.sleep(0.05)
        return found

    def feed(self, number: int, lines: list[str]) -> None:
        """Hands the job its next records."""
        hidden = self.directory / f".{number}"
        hidden.write_text("".join(lines))
        hidden.rename(self.directory / "in" / f"{number:04d}.json")

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

    def check_counts(self) -> None:
        """Each record has been counted once, for its key."""
        counts = sorted((row["file"], row["k"], row["n"]) for row in self.results())
        assert counts == [(file, key, file + 1) for file in range(self._files) for key in range(KEYS)]

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
