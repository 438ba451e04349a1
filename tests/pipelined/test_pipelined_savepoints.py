"""Savepoints of a job whose epochs last: nobody waits for the end of one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.engine.epochs.stage_executor import StageResults
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from pipelined import local_pipelined
from pipelined.list_source import two_splits
from pipelined.local_pipelined import LocalPipelinedExecutor, environment

pytestmark = pytest.mark.usefixtures("tasks_in_this_process")


def test_an_epoch_for_a_savepoint_that_was_asked_for_before_the_job_had_begun_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_asked = threading.Event()
    noted: list[str] = []

    class BeginsLater(LocalPipelinedExecutor):
        def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
            noted.append("epoch")
            return super().run(header, tasks)

        def hasten(self, most_seconds: float | None = None) -> None:
            noted.append("hasten")

    def begin_later(*arguments: object) -> LocalPipelinedExecutor:
        assert is_asked.wait(60)
        return BeginsLater(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(local_pipelined, "LocalPipelinedExecutor", begin_later)
    env = environment("pipelined", execution__checkpointing__dir=str(tmp_path / "checkpoint"))
    env.from_source(two_splits(), None, "pairs").add_sink(lambda pair: None)
    job = env.execute_async("pairs")
    savepoint = job.trigger_savepoint(str(tmp_path / "savepoints"))
    is_asked.set()
    assert Path(savepoint.result(60)).exists()
    job.wait(60)
    assert noted[:2] == ["hasten", "epoch"]
