"""Runs epochs in one Spark job whose stages run side by side: it lasts, and works through one epoch after the other."""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from penstock.common.errors import CheckpointUnavailableError, EnvironmentNotReadyError, FencedError
from penstock.common.logs import job_logger
from penstock.common.slow_steps import SlowSteps
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageResults
from penstock.engine.pipelined.control_rows import partitions_of
from penstock.engine.pipelined.live_amounts import EpochAmount
from penstock.engine.pipelined.live_header import WORD_OF_TASKS, LiveHeader, LiveOrders, LiveSettings, live_header
from penstock.engine.pipelined.live_job import LiveJob
from penstock.engine.pipelined.live_word import leave_word
from penstock.engine.pipelined.pipelined_plan import pipelined_plan, run_pipelined
from penstock.engine.pipelined.placement import Placement
from penstock.engine.pipelined.slots import Slots, too_few_slots
from penstock.engine.pipelined.worker import LiveSourceFunction, LiveStageFunction, close_job
from penstock.engine.spark.closing import close_in_workers
from penstock.engine.spark.executor import SparkStageExecutor, spark_errors_explained
from penstock.engine.spark.revival import is_alive
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import ENVELOPE_DDL
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.publish_host import PublishFailure, SubtaskOutput
from penstock.engine.stages.task_host import TaskSetup
from penstock.engine.stages.task_report import TaskReport

_NO_ROOM = "INSUFFICIENT_SLOT"
_SLOW_END = (
    "tasks took %.1f s beyond the time of epoch %d, in which records wait: to work through what they had, "
    "and to stage state and output"
)
_JOB_SECONDS = 600.0
"""How long a Spark job lasts before another takes its place: executors that were added since get their share."""


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
        self._slots = Slots(session)
        tasks_of_stages = [partitions_of(job.stage_parallelism, stage) for stage in job.stages]
        self._task_count = sum(tasks_of_stages)
        """How many tasks run at the same time."""
        self._placement = Placement(session, tasks_of_stages)
        self._storage = setup.environment.storage
        self._slow_steps = SlowSteps(job_logger(job.name))
        self._amount = EpochAmount(timeout_seconds)
        self._live_job: LiveJob | None = None
        self._newest_run: int | None = None
        self._under_way: LiveHeader | None = None
        self._next_is_short = False
        self._patience_ends = math.inf
        """When whoever has cancelled the job waits no more for the epoch under way."""
        self._lock = threading.Lock()
        shutil.rmtree(self._storage.resolve(WORD_OF_TASKS), ignore_errors=True)

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        """Lets the Spark job under way, or a new one, work on one epoch in all stages side by side."""
        with spark_errors_explained(self._session, header.epoch):
            job = self._job_of(header.run)
        is_first = header.run != self._newest_run
        most = self._amount.records
        live = live_header(
            header, tasks, self._live, is_first=is_first, spark_job=job.name, turn=job.turn, most_records=most
        )
        self._newest_run = header.run
        with self._lock:
            self._under_way = live
            if self._next_is_short:
                self._next_is_short = False
                self._cut_short(live)
        try:
            with spark_errors_explained(self._session, header.epoch):
                started = time.monotonic()
                reports = job.work_on(
                    live, LiveOrders(live, tasks), self._timeout_seconds, lambda: time.monotonic() > self._patience_ends
                )
                if live.turn > 0:
                    # In the first of them, tasks have to start.
                    beyond = time.monotonic() - started - live.live.seconds
                    self._slow_steps.took(beyond, _SLOW_END, live.epoch.number)
            self._amount.worked(reports, live.live.seconds)
        except FencedError as error:
            # Whether another driver has taken over is in the log: files can be gone for other reasons, too.
            self._end_job()
            raise ExecutionFailedError(str(error)) from None
        except ExecutionFailedError as error:
            self._amount.lost()
            failures = job.failures(live)
            self._end_job()
            if failures:
                return StageResults((), failures, tuple(job.reports))
            if _NO_ROOM in str(error):
                raise self._no_room() from None
            raise
        finally:
            with self._lock:
                self._under_way = None
        return StageResults(tuple(each.done for each in reports if each.done is not None), (), tuple(reports))

    def publish(self, epoch: EpochId, outputs: Sequence[SubtaskOutput]) -> list[PublishFailure]:
        """Publishes what subtasks have staged, beside the tasks that stay."""
        needed = self._task_count + 1
        with spark_errors_explained(self._session, epoch):
            self._slots.wait_for(needed)
            has_room = self._slots.count() >= needed
        if not has_room:
            raise self._no_room("and those that publish beside them")
        return super().publish(epoch, outputs)

    def hasten(self, most_seconds: float | None = None) -> None:
        """Ends the epoch under way as if its time was up, and the next one, too: a savepoint is of that."""
        with self._lock:
            self._next_is_short = True
            if most_seconds is not None:
                self._patience_ends = min(self._patience_ends, time.monotonic() + most_seconds)
            if self._under_way is not None:
                self._cut_short(self._under_way)

    def reports_so_far(self) -> list[TaskReport]:
        """Of the tasks that are done with the epoch under way."""
        # Whoever asks does so from another thread: the job may end between two looks.
        job = self._live_job
        return [] if job is None else list(job.reports)

    def close(self, *, ended: bool) -> None:
        """Sends the tasks home."""
        self._end_job()
        super().close(ended=ended)

    def _close_in_workers(self) -> None:
        # There are far more slots than workers. One for each task, and as many for those that publish beside them.
        workers = min(2 * self._task_count, self._slots.count())
        close_in_workers(self._session, self._job, self._setup, close_job, workers)

    def _cut_short(self, header: LiveHeader) -> None:
        # Where another driver has taken over, or there is no room on the disk, the epoch ends when its time is up.
        with suppress(FencedError, CheckpointUnavailableError):
            leave_word(self._storage, header.end_mark)

    def _job_of(self, run: int) -> LiveJob:
        """The Spark job under way, where it is of this run, and not too old."""
        if self._live_job is not None and (self._live_job.run != run or self._live_job.age_seconds > _JOB_SECONDS):
            self._end_job()
        if self._live_job is None:
            # Spark refuses at once what does not fit on the executors that are there.
            self._slots.wait_for(self._task_count)
            parallelism = self._job.stage_parallelism
            # Those of the last stage come first: they are done last.
            numbered = [*enumerate(parallelism)][::-1]
            tasks = [(stage, subtask) for stage, number in numbered for subtask in range(number)]
            passing = [
                (stage, subtask)
                for stage, number in numbered
                for subtask in range(number, partitions_of(parallelism, stage))
            ]
            self._live_job = LiveJob(
                self._storage, run, tasks, self._run_spark_job, self._cancel_spark_job, passing=passing
            )
        return self._live_job

    def _end_job(self) -> None:
        job, self._live_job = self._live_job, None
        if job is not None:
            job.end()

    def _run_spark_job(self, name: str) -> None:
        # Spark kills the Python worker of a task that it interrupts, whatever that waits for.
        self._session.sparkContext.setJobGroup(name, f"{self._job.name}: pipelined", interruptOnCancel=True)
        run_pipelined(self._session, self._plan(), name)

    def _cancel_spark_job(self, name: str) -> None:
        if is_alive(self._session):
            self._session.sparkContext.cancelJobGroup(name)

    def _plan(self) -> Any:
        """Of any epoch: what it is told is not in there."""
        sources = self._job.stage_parallelism[0]
        frame = self._session.range(0, sources, 1, sources).mapInArrow(LiveSourceFunction(self._setup), ENVELOPE_DDL)
        for stage in self._job.stages[1:]:
            frame = frame.repartitionById(partitions_of(self._job.stage_parallelism, stage), "target").mapInArrow(
                LiveStageFunction(self._setup, stage), ENVELOPE_DDL
            )
        return pipelined_plan(self._session, frame, self._placement.hosts())

    def _no_room(self, others: str = "") -> EnvironmentNotReadyError:
        return EnvironmentNotReadyError(too_few_slots(self._job.name, self._task_count, others, self._slots.count()))
