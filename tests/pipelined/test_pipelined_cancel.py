"""A job that is cancelled in an epoch that has taken in a lot ends without it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.common import JobStatus
from penstock.connectors.sink import EpochId
from penstock.connectors.source import EpochBudget
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageResults
from penstock.engine.pipelined.live_header import LiveOrders, LiveSettings, live_header
from penstock.engine.pipelined.live_job import LiveJob
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.state.storage import LocalCheckpointStorage
from pipelined import local_pipelined
from pipelined.list_source import two_splits
from pipelined.local_pipelined import LocalPipelinedExecutor, environment

SECONDS = 30


class NeverDone(LocalPipelinedExecutor):
    """Its tasks work until they are given up."""

    under_way = threading.Event()
    is_given_up = threading.Event()

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        self.under_way.set()
        assert self.is_given_up.wait(SECONDS)
        raise ExecutionFailedError("tasks were ended")

    def hasten(self, most_seconds: float | None = None) -> None:
        if most_seconds is not None:
            self.is_given_up.set()


@pytest.mark.usefixtures("tasks_in_this_process")
def test_a_job_that_is_cancelled_does_not_wait_for_all_that_its_epoch_has_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_pipelined, "LocalPipelinedExecutor", NeverDone)
    env = environment("pipelined", execution__checkpointing__dir=str(tmp_path))
    env.from_source(two_splits(), None, "pairs").add_sink(lambda pair: None)
    job = env.execute_async("pairs")
    assert NeverDone.under_way.wait(SECONDS)
    job.cancel().result(SECONDS)
    assert job.get_job_status().result() is JobStatus.CANCELED


def test_tasks_that_are_given_up_are_ended(tmp_path: Path) -> None:
    epoch = EpochHeader(
        "job", EpochId(1, 1), 0, now=5, index=None, ended_sources=(), budget=EpochBudget(1, 1, 1), bounded=False
    )
    hangs = threading.Event()
    job = LiveJob(
        LocalCheckpointStorage(str(tmp_path)),
        0,
        [(0, 0)],
        lambda name: hangs.wait(SECONDS) and None,
        lambda name: hangs.set(),
    )
    live = live_header(epoch, [], LiveSettings(0.0, 0.005), spark_job=job.name)
    with pytest.raises(ExecutionFailedError, match="more to work through"):
        job.work_on(live, LiveOrders(live, []), is_given_up=lambda: True)
    assert hangs.is_set()
    job.end()
