"""A task that loses its input, or its driver, reports nothing: the epoch is run again, and no more."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from penstock.common.batch import Batch
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageResults
from penstock.engine.pipelined.live_stage_subtask import InputLostError, received
from penstock.engine.pipelined.live_word import DriverLostError
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from pipelined import list_source, local_pipelined
from pipelined.list_source import PAIRS, two_splits
from pipelined.local_pipelined import LocalPipelinedExecutor, environment
from pipelined.running_count import Running

pytestmark = pytest.mark.usefixtures("virtual_time")


class LosesInput(LocalPipelinedExecutor):
    """In the second epoch the connection to the stage before breaks, once."""

    _epochs = 0

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        self._epochs += 1
        try:
            return super().run(header, tasks)
        except InputLostError as error:
            raise ExecutionFailedError("a worker was killed") from error

    def _delivered(self, sent: list[list[Envelope]], partitions: int) -> list[list[Envelope]]:
        delivered = super()._delivered(sent, partitions)
        if self._epochs != 2:
            return delivered
        return [received(_broken(rows)) for rows in delivered]  # type: ignore[misc]


def _broken(rows: list[Envelope]) -> Iterator[Envelope]:
    yield from rows[: len(rows) // 2]
    raise ConnectionResetError


def test_a_task_that_loses_its_input_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_pipelined, "LocalPipelinedExecutor", LosesInput)
    env = environment("pipelined", **{"restart-strategy__type": "none"})
    stream = env.from_source(two_splits(), None, "pairs").key_by(lambda pair: pair[0]).process(Running(), PAIRS)
    assert Counter(stream.execute_and_collect()) == Counter(
        (f"key-{key}", count) for key in range(3) for count in range(1, 9)
    )


def test_a_task_that_loses_its_driver_does_not_follow_its_splits_to_the_end_of_the_epoch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it sends from there on the next driver sends again."""
    live = tmp_path / "checkpoint" / "live"
    poll = list_source._LiveReader.poll
    lost: list[DriverLostError] = []
    polls = 0

    class LosesDriver(LocalPipelinedExecutor):
        def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
            try:
                return super().run(header, tasks)
            except DriverLostError as error:
                lost.append(error)
                raise ExecutionFailedError("the job is over") from error

    def cleared_away(reader: list_source._LiveReader, seconds: float) -> list[tuple[int, Batch]]:
        nonlocal polls
        polls += 1
        if polls == 3:
            shutil.rmtree(live)
        return poll(reader, seconds)

    monkeypatch.setattr(local_pipelined, "LocalPipelinedExecutor", LosesDriver)
    monkeypatch.setattr(list_source._LiveReader, "poll", cleared_away)
    options = {"restart-strategy__type": "none", "execution__checkpointing__dir": str(tmp_path / "checkpoint")}
    env = environment("pipelined", execution__pipelined__epoch="1 s", **options)
    stream = env.from_source(two_splits(), None, "pairs").key_by(lambda pair: pair[0]).process(Running(), PAIRS)
    assert Counter(stream.execute_and_collect()) == Counter(
        (f"key-{key}", count) for key in range(3) for count in range(1, 9)
    )
    assert len(lost) == 1
