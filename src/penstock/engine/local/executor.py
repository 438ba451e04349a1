"""Runs the stages of an epoch in this process: the same tasks, the same buffers, no JVM."""

from __future__ import annotations

import random
from collections.abc import Sequence

from penstock.connectors.sink import EpochId
from penstock.engine.epochs.stage_executor import StageResults, results_from
from penstock.engine.local.python_files import LocalFiles
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.publish_host import PublishFailure, PublishHost, SubtaskOutput
from penstock.engine.stages.task_host import TaskHost, TaskSetup
from penstock.engine.stages.task_report import TaskReport


class LocalStageExecutor:
    """One task after the other. Rows reach a task in a shuffled order, as Spark's shuffle would deliver them."""

    def __init__(self, job: CompiledJob, setup: TaskSetup, files: LocalFiles | None = None, seed: int = 0) -> None:
        self._job = job
        self._setup = setup
        self._reports: list[TaskReport] = []
        self._random = random.Random(seed)  # noqa: S311  an arrival order, not a secret
        files = files or LocalFiles()
        self._host = TaskHost(lambda: files.root)
        self._publish_host = PublishHost(lambda: files.root)

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        """Runs all stages of one epoch."""
        rows: list[Envelope] = []
        reports = self._reports = []
        for subtask, reads in enumerate(tasks):
            rows.extend(self._host.run_source(self._setup, header, subtask, reads, reports.append))
        for stage in self._job.stages[1:]:
            arrivals = self._exchange(rows, max(self._job.stage_parallelism[stage:]))
            rows = []
            for subtask, arrived in enumerate(arrivals):
                rows.extend(self._host.run_stage(self._setup, header, stage, subtask, arrived, reports.append))
        return results_from(rows, reports)

    def publish(self, epoch: EpochId, outputs: Sequence[SubtaskOutput]) -> list[PublishFailure]:
        """Publishes what subtasks have staged, one after the other; those after a failure are left."""
        for output in outputs:
            failure = self._publish_host.publish(self._setup, epoch, output)
            if failure is not None:
                return [failure]
        return []

    def hasten(self, most_seconds: float | None = None) -> None:
        """An epoch ends when its work is done."""

    def reports_so_far(self) -> list[TaskReport]:
        """Of the tasks of the epoch under way that have ended."""
        return list(self._reports)

    def close(self, *, ended: bool) -> None:
        """Closes user functions and stores."""
        self._host.close()
        self._publish_host.close()
        if ended:
            self._setup.environment.remove_local_state()

    def _exchange(self, rows: list[Envelope], partitions: int) -> list[list[Envelope]]:
        arrivals: list[list[Envelope]] = [[] for _ in range(partitions)]
        for row in rows:
            arrivals[row.target % partitions].append(row)
        for arrived in arrivals:
            self._random.shuffle(arrived)
        return arrivals
