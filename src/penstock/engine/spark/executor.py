"""Runs the stages of an epoch as one Spark job: one linear plan, one action."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.common.errors import JobExecutionException
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageResults, results_from
from penstock.engine.spark.spark_errors import short_message
from penstock.engine.spark.task_reports import Reports
from penstock.engine.spark.worker import SourceStageFunction, StageFunction
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import ENVELOPE_DDL, Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.task_host import TaskSetup
from penstock.engine.stages.task_report import TaskReport


class SparkStageExecutor:
    """`range -> mapInArrow(stage 0) -> repartitionById -> mapInArrow(stage 1) -> ... -> collect`."""

    def __init__(self, session: SparkSession, job: CompiledJob, setup: TaskSetup) -> None:
        self._session = session
        self._job = job
        self._setup = setup
        self._reports = Reports(session.sparkContext)

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        """Runs all stages of one epoch in one action."""
        try:
            rows = self._collect(header, tasks)
        except (Py4JNetworkError, ConnectionError) as error:
            raise JobExecutionException(
                f"the Spark driver's JVM is gone (epoch {header.epoch}). Start the program again with the same "
                "checkpoint directory: it continues from the last committed epoch."
            ) from error
        except (PySparkException, Py4JError) as error:
            raise ExecutionFailedError(short_message(error)) from error
        return results_from(rows, self._reports.collect())

    def _collect(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> list[Envelope]:
        self._session.sparkContext.setJobDescription(f"{self._job.name}: epoch {header.epoch}")
        frame = self._session.range(0, len(tasks), 1, len(tasks)).mapInArrow(
            SourceStageFunction(self._setup, header, tasks, self._reports), ENVELOPE_DDL
        )
        for stage in self._job.stages[1:]:
            partitions = max(self._job.stage_parallelism[stage:])
            frame = frame.repartitionById(partitions, "target").mapInArrow(
                StageFunction(self._setup, header, stage, self._reports), ENVELOPE_DDL
            )
        return [
            Envelope(row.target, row.edge, row.sender, row.seq, row.kind, bytes(row.payload)) for row in frame.collect()
        ]

    def reports_so_far(self) -> list[TaskReport]:
        """Of the tasks of the epoch under way that have ended."""
        return self._reports.so_far()

    def close(self, *, ended: bool) -> None:
        """Workers end by themselves when they are idle; the session belongs to whoever made it."""
        if ended:
            self._setup.environment.remove_local_state()
