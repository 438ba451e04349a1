"""Pipelined mode on a real cluster, with executors whose Python does not know Penstock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.cluster_run import SECONDS, ClusterRun, until_even
from cluster.executor_environment import executor_python
from cluster.standalone_cluster import StandaloneCluster

pytestmark = [pytest.mark.spark, pytest.mark.faults]

FIRST, SECOND, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"
MOMENTS = {"program.record": "in the middle of an epoch", "task.done": "between two epochs"}


class PipelinedRun(ClusterRun):
    """The job follows two files. An executor dies at a fail point as soon as a mark of its name is gone."""

    script = Path(__file__).with_name("standalone_pipelined_job.py")

    def __init__(self, directory: Path, cluster: StandaloneCluster) -> None:
        self._marks = {moment: directory / moment for moment in MOMENTS}
        for mark in self._marks.values():
            mark.touch()
        points = ";".join(f"{moment}=executor:{mark}" for moment, mark in self._marks.items())
        options = [f"spark.pyspark.python={executor_python()}", f"spark.executorEnv.PENSTOCK_FAIL_POINTS={points}"]
        super().__init__(directory, cluster, *options)

    def prepare(self) -> None:
        for name in "ab":
            (self.directory / "in" / name).touch()

    def feed(self, number: int, lines: list[str]) -> None:
        for place, name in enumerate("ab"):
            with (self.directory / "in" / name).open("a") as file:
                file.write("".join(lines[place::2]))

    def kill_executor(self, moment: str) -> None:
        """One more round, in which an executor dies."""
        self._marks[moment].unlink()
        self.epoch()
        self.wait_until(self._marks[moment].exists, f"the death of an executor {MOMENTS[moment]}")

    def next_spark_job(self) -> None:
        """Waits until another Spark job has taken the place of the one under way."""
        before = self._spark_jobs()
        self.wait_until(lambda: bool(self._spark_jobs() - before), "the next Spark job")

    def wait_until(self, condition, what: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"{what} has not come: {self.log()}"
            time.sleep(0.05)

    def _spark_jobs(self) -> set[str]:
        return {path.name for path in (self.directory / "checkpoint" / "live").glob("*")}


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    try:
        for host in (FIRST, SECOND):
            cluster.add_worker(host, cores=4)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def run(tmp_path: Path, cluster: StandaloneCluster) -> Iterator[PipelinedRun]:
    run = PipelinedRun(tmp_path, cluster)
    yield run
    run.end()


def test_state_stays_on_its_machine_a_new_one_takes_some_and_executors_that_die_cost_nothing(run, cluster):
    places = until_even(run, FIRST, SECOND)
    run.next_spark_job()
    assert run.machines() == places, "another Spark job, the same machines"
    cluster.add_worker(THIRD, cores=4)
    for moment in MOMENTS:
        run.kill_executor(moment)
    # Of the machines two at least have an executor that the job did not have when it started.
    until_even(run, FIRST, SECOND, THIRD)
    run.stop()
    run.check_counts()
