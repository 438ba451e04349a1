"""A task that gets nothing for long, not even a tick, says so: its log tells where records stood still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.common.logs import job_logger
from penstock.common.slow_steps import SlowSteps
from penstock.engine.pipelined.control_rows import tick_rows
from penstock.engine.pipelined.live_stage_subtask import noticing_silence
from penstock.engine.stages.envelope import Envelope

(TICK,) = tick_rows((1, 1), 0, 0, 0)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rows_after(clock: Clock, *seconds: float) -> Iterator[Envelope]:
    for each in seconds:
        clock.now += each
        yield TICK


def test_silence_is_told(penstock_log: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    rows = noticing_silence(rows_after(clock, 0.05, 0.05, 17.2, 0.05), SlowSteps(job_logger("job"), clock))
    assert len(list(rows)) == 4
    assert penstock_log.messages == ["for 17.2 s nothing came from the stage before, not even a tick"]


def test_neither_work_nor_the_start_of_others_is_silence(
    penstock_log: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    for _ in noticing_silence(rows_after(clock, 6.0, 0.05, 0.05), SlowSteps(job_logger("job"), clock)):
        clock.now += 3.0
    assert penstock_log.messages == []
