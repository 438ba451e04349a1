"""A real cluster: all programs run there, state stays where it is, a new machine takes some, a lost one is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import standalone_operators
from cluster.cluster_run import SECONDS, ClusterRun, start, until_even
from cluster.standalone_cluster import StandaloneCluster
from cluster.standalone_operators import published, run_all
from faults.processes import kill_group

pytestmark = [pytest.mark.spark, pytest.mark.faults]

FIRST, SECOND, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"


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


@pytest.mark.parametrize("options", [[], ["spark.master=local-cluster[2,1,512]"]], ids=["standalone", "local-cluster"])
def test_the_programs_of_the_conformance_tests_give_what_they_give_without_a_cluster(tmp_path, cluster, options):
    local = tmp_path / "local"
    process = start(Path(standalone_operators.__file__), tmp_path, cluster, *options)
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
    run.check_counts()
    closed = {int(path.name.split("-")[1]) for path in run.directory.glob("closed-*")}
    assert closed == {0, 1, 2, 3}, "functions are closed where they last worked"
    left = {path.parents[1].name for path in cluster.directory.glob("disk-*/state/*")}
    assert left <= {f"disk-{SECOND}"}, "machines forget the state of a job that ended, if they have an executor then"
