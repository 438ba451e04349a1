"""Runs an epoch as one Spark job whose stages run side by side, for as long as the epoch lasts."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from penstock.common.errors import EnvironmentNotReadyError, FailureReport
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageResults
from penstock.engine.pipelined.live_header import WORD_OF_TASKS, LiveHeader, LiveOrders, LiveSettings, live_header
from penstock.engine.pipelined.pipelined_plan import collect_pipelined, pipelined_plan
from penstock.engine.pipelined.plan_ahead import PlanAhead
from penstock.engine.pipelined.ticks import partitions_of
from penstock.engine.pipelined.worker import LiveSourceFunction, LiveStageFunction, close_job
from penstock.engine.spark.closing import close_in_workers
from penstock.engine.spark.executor import SparkStageExecutor
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import ENVELOPE_DDL, Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.messages import failure_from_bytes
from penstock.engine.stages.task_host import TaskSetup

_NO_ROOM = "INSUFFICIENT_SLOT"
_PLAN_AFTER_SECONDS = 2.0
"""When the next epoch's plan is made: this one has begun, and records that had to wait are through."""


class PipelinedStageExecutor(SparkStageExecutor):
    """The plan of `SparkStageExecutor`, with exchanges that hand rows over as they come."""

    def __init__(
        self,
        session: SparkSession,
        job: CompiledJob,
        setup: TaskSetup,
        live: LiveSettings,
        timeout_seconds: float | None = None,
    ) -> None:
        super().__init__(session, job, setup, timeout_seconds)
        self._live = live
        self._plans = PlanAhead(self._plan, job.name)
        self._newest_run: int | None = None
        self._under_way: LiveHeader | None = None
        self._next_is_short = False
        self._lock = threading.Lock()
        shutil.rmtree(setup.environment.storage.resolve(WORD_OF_TASKS), ignore_errors=True)

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        """Runs all stages of one epoch side by side."""
        live = live_header(header, tasks, self._live, is_first=header.run != self._newest_run)
        self._newest_run = header.run
        with self._lock:
            self._under_way = live
            if self._next_is_short:
                self._next_is_short = False
                self._cut_short(live)
        try:
            return super().run(live, tasks)
        except ExecutionFailedError as error:
            failures = self._failures(live)
            if failures:
                return StageResults((), failures, tuple(self._reports.collect()))
            if _NO_ROOM in str(error.__cause__):
                raise self._no_room(len(tasks)) from error
            raise
        finally:
            with self._lock:
                self._under_way = None
            shutil.rmtree(self._setup.environment.storage.resolve(live.directory), ignore_errors=True)

    def hasten(self) -> None:
        """Ends the epoch under way as if its time was up, and the next one, too: a savepoint is of that."""
        with self._lock:
            self._next_is_short = True
            if self._under_way is not None:
                self._cut_short(self._under_way)

    def close(self, *, ended: bool) -> None:
        """Lets go of the plans that there are."""
        self._plans.close()
        super().close(ended=ended)

    def _close_in_workers(self) -> None:
        # There are far more slots than workers. One for each task, and as many for those that publish beside them.
        workers = min(2 * self._tasks(self._job.stage_parallelism[0]), self._session.sparkContext.defaultParallelism)
        close_in_workers(self._session, self._job, self._setup, close_job, workers)

    def _cut_short(self, header: LiveHeader) -> None:
        self._setup.environment.storage.put_if_absent(header.end_mark, b"")

    def _collect(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> list[Envelope]:
        assert isinstance(header, LiveHeader)
        self._setup.environment.storage.put_if_absent(header.orders, LiveOrders(header, tasks).to_bytes())
        plan = self._plans.take()
        # Without exchanges a plan is made in no time, and records feel it less in the gap than while they flow.
        if len(self._job.stages) > 1:
            self._plans.make_next(min(self._live.seconds / 2, _PLAN_AFTER_SECONDS))
        return collect_pipelined(self._session, plan, f"penstock-{header.job_id}", header.orders)

    def _plan(self) -> Any:
        """Of any epoch: what it is told is not in there."""
        sources = self._job.stage_parallelism[0]
        frame = self._session.range(0, sources, 1, sources).mapInArrow(
            LiveSourceFunction(self._setup, self._reports), ENVELOPE_DDL
        )
        for stage in self._job.stages[1:]:
            frame = frame.repartitionById(partitions_of(self._job, stage), "target").mapInArrow(
                LiveStageFunction(self._setup, stage, self._reports), ENVELOPE_DDL
            )
        return pipelined_plan(self._session, frame)

    def _failures(self, header: LiveHeader) -> tuple[FailureReport, ...]:
        storage = self._setup.environment.storage
        marks = [path for path in storage.list(header.directory) if path not in (header.end_mark, header.orders)]
        return tuple(failure_from_bytes(storage.read(path)) for path in marks)

    def _tasks(self, source_tasks: int) -> int:
        """How many tasks run at the same time."""
        return source_tasks + sum(partitions_of(self._job, stage) for stage in self._job.stages[1:])

    def _no_room(self, source_tasks: int) -> EnvironmentNotReadyError:
        needed = self._tasks(source_tasks)
        return EnvironmentNotReadyError(
            f"in pipelined mode all {needed} tasks of the job '{self._job.name}' run at the same time, and Spark has "
            f"fewer slots free. Lower the parallelism, or give it more: spark.master local[{needed + 2}], more "
            "executors or more cores for each (a slot need not have a core of its own where tasks mostly wait)."
        )
