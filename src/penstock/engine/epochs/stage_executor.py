"""The seam between the epoch protocol and an engine: run one epoch's stages, return what the tasks said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.common.errors import FailureReport
from penstock.connectors.sink import EpochId
from penstock.engine.stages.envelope import Envelope, Kind
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.messages import Done, done_from_bytes, failure_from_bytes
from penstock.engine.stages.publish_host import PublishFailure, SubtaskOutput
from penstock.engine.stages.task_report import TaskReport


class ExecutionFailedError(Exception):
    """The engine lost an epoch for reasons of its own (an executor died, ...): the epoch is run again."""


@dataclass(frozen=True)
class StageResults:
    """Everything that reached the driver."""

    done: tuple[Done, ...]
    failures: tuple[FailureReport, ...]
    reports: tuple[TaskReport, ...] = ()

    @property
    def has_retries(self) -> bool:
        """Whether the engine tried a task more than once: objects of the other attempt may live on somewhere."""
        tasks = [(report.stage, report.subtask) for report in self.reports]
        return len(set(tasks)) < len(tasks) or any(report.attempt for report in self.reports)


def results_from(rows: Iterable[Envelope], reports: Iterable[TaskReport]) -> StageResults:
    """Reads the messages among the rows that left the last stage."""
    done: list[Done] = []
    failures: list[FailureReport] = []
    for row in rows:
        if row.kind == Kind.MESSAGE:
            done.append(done_from_bytes(row.payload))
        elif row.kind == Kind.FAILURE:
            failures.append(failure_from_bytes(row.payload))
    return StageResults(tuple(done), tuple(failures), tuple(reports))


class StageExecutor(Protocol):
    """Runs epochs. Exactly one action per call."""

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        """Runs all stages of one epoch; raises `ExecutionFailedError` where that is worth another try."""
        ...

    def publish(self, epoch: EpochId, outputs: Sequence[SubtaskOutput]) -> list[PublishFailure]:
        """Publishes what subtasks have staged, in a task each, and returns what went wrong there.

        Called from another thread than `run`, at the same time; raises `ExecutionFailedError` as `run` does.
        """
        ...

    def hasten(self, most_seconds: float | None = None) -> None:
        """Someone waits for the end of the epoch under way: one that lasts ends soon. Called from any thread.

        For no longer than `most_seconds`: what is not done by then fails.
        """
        ...

    def reports_so_far(self) -> Sequence[TaskReport]:
        """Of the tasks of the epoch under way that have ended. Called from any thread."""
        ...

    def close(self, *, ended: bool) -> None:
        """Lets go of what the job holds in the engine; at its proper end, of local copies of state too."""
        ...
