"""Runs the stages of an epoch as one Spark job: one linear plan, one action."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.common.errors import JobExecutionException
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageResults, results_from
from penstock.engine.spark.closing import close_in_workers
from penstock.engine.spark.job_deadline import job_deadline
from penstock.engine.spark.revival import is_alive, jvm_answers
from penstock.engine.spark.spark_errors import short_message
from penstock.engine.spark.sticky_stages import StickyStages
from penstock.engine.spark.task_reports import Reports
from penstock.engine.spark.worker import PublishFunction, SourceStageFunction, StageFunction, close_job
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import ENVELOPE_DDL, Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.publish_host import PublishFailure, SubtaskOutput
from penstock.engine.stages.task_host import TaskSetup
from penstock.engine.stages.task_report import TaskReport

_logger = logging.getLogger("penstock.spark")


class SparkStageExecutor:
    """`range -> mapInArrow(stage 0) -> exchange -> mapInArrow(stage 1) -> ... -> collect`."""

    def __init__(
        self, session: SparkSession, job: CompiledJob, setup: TaskSetup, timeout_seconds: float | None = None
    ) -> None:
        self._session = session
        self._job = job
        self._setup = setup
        self._reports = Reports(session.sparkContext)
        self._sticky = StickyStages(session)
        self._timeout_seconds = timeout_seconds

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        """Runs all stages of one epoch in one action."""
        name = f"penstock-{self._setup.environment.job_id}"
        description = f"{self._job.name}: epoch {header.epoch}"
        with (
            spark_errors_explained(self._session, header.epoch),
            job_deadline(self._session.sparkContext, name, description, self._timeout_seconds),
        ):
            rows = self._collect(header, tasks)
        return results_from(rows, self._reports.collect())

    def publish(self, epoch: EpochId, outputs: Sequence[SubtaskOutput]) -> list[PublishFailure]:
        """Publishes what subtasks have staged: a Spark job of its own, with a task for each."""
        context = self._session.sparkContext
        with spark_errors_explained(self._session, epoch):
            # Local properties belong to a thread: the job that runs the next epoch is not touched.
            context.setJobGroup(
                f"penstock-publish-{self._setup.environment.job_id}", f"{self._job.name}: publish epoch {epoch}"
            )
            tasks = context.parallelize(outputs, len(outputs)).map(PublishFunction(self._setup, epoch))
            return [failure for failure in tasks.collect() if failure is not None]

    def _collect(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> list[Envelope]:
        self._sticky.begin_epoch(max(self._job.stage_parallelism[stage:]) for stage in self._job.stages[1:])
        frame = self._session.range(0, len(tasks), 1, len(tasks)).mapInArrow(
            SourceStageFunction(self._setup, header, tasks, self._reports), ENVELOPE_DDL
        )
        for stage in self._job.stages[1:]:
            partitions = max(self._job.stage_parallelism[stage:])
            frame = self._sticky.exchange(frame, partitions).mapInArrow(
                StageFunction(self._setup, header, stage, self._reports), ENVELOPE_DDL
            )
        return [
            Envelope(row.target, row.edge, row.sender, row.seq, row.kind, bytes(row.payload)) for row in frame.collect()
        ]

    def hasten(self, most_seconds: float | None = None) -> None:
        """An epoch ends when its work is done."""

    def reports_so_far(self) -> list[TaskReport]:
        """Of the tasks of the epoch under way that have ended."""
        return self._reports.so_far()

    def close(self, *, ended: bool) -> None:
        """Lets workers let go of the job where it has ended; the session belongs to whoever made it."""
        if not is_alive(self._session):
            return
        self._sticky.close()
        if ended:
            self._close_in_workers()
            self._setup.environment.remove_local_state()

    def _close_in_workers(self) -> None:
        close_in_workers(
            self._session, self._job, self._setup, close_job, self._session.sparkContext.defaultParallelism
        )


@contextmanager
def spark_errors_explained(session: SparkSession, epoch: EpochId) -> Generator[None]:
    """Spark's errors as ours: those that the session did not survive, and those after which work is tried again.

    Spark's own are not the causes of ours: a traceback would end in a Java stack. They are in the log, at DEBUG.
    """
    try:
        yield
    except (Py4JNetworkError, ConnectionError):
        raise _jvm_is_gone(epoch) from None
    except (PySparkException, Py4JError) as error:
        if not jvm_answers():
            # A call that was under way says no more than that it failed.
            raise _jvm_is_gone(epoch) from None
        _logger.debug("Spark failed in epoch %s: %s", epoch, error)
        if not is_alive(session):
            raise JobExecutionException(
                f"the SparkContext has been stopped (epoch {epoch}): {short_message(error)}"
            ) from None
        raise ExecutionFailedError(short_message(error)) from None


def _jvm_is_gone(epoch: EpochId) -> JobExecutionException:
    return JobExecutionException(
        f"the Spark driver's JVM is gone (epoch {epoch}). Start the program again with the same checkpoint directory: "
        "it continues from the last committed epoch."
    )
