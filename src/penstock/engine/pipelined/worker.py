"""The worker shell of pipelined mode: rows leave as soon as a task has nothing more to send for now."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import SparkFiles, TaskContext

from penstock.common.errors import PenstockError
from penstock.common.fail_points import reach
from penstock.engine.pipelined.control_rows import end_rows, partitions_of, pushed
from penstock.engine.pipelined.live_header import END_OF_ROUND, LiveHeader, LiveOrders
from penstock.engine.pipelined.live_stage_subtask import received, rows_of_epoch
from penstock.engine.pipelined.live_task_host import LiveTaskHost
from penstock.engine.pipelined.live_word import leave_word, orders_in_turn
from penstock.engine.pipelined.pipelined_plan import OF_TASKS, SPARK_JOB
from penstock.engine.spark.worker import partition
from penstock.engine.stages.envelope import Envelope, Kind, from_arrow, to_arrow
from penstock.engine.stages.messages import failure_from_bytes
from penstock.engine.stages.task_host import TaskSetup
from penstock.engine.stages.task_report import TaskReport

_host = LiveTaskHost(SparkFiles.getRootDirectory)
"""One per worker process, as in epochs mode."""


def close_job(job_id: str) -> None:
    """The end of a job in this process."""
    _host.close_job(job_id)


class TaskFailedError(PenstockError):
    """A task has failed and has left a report of it in the checkpoint; Spark ends the tasks beside it."""


class LiveSourceFunction:
    """Stage 0 for `mapInArrow`: partition i follows the splits of task i, epoch after epoch."""

    def __init__(self, setup: TaskSetup) -> None:
        self._setup = setup

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark in the worker."""
        for _ in batches:
            pass
        subtask = partition()
        for orders in _orders(self._setup):
            reports: list[TaskReport] = []
            rows = _host.run_source(self._setup, orders.header, subtask, orders.tasks[subtask], reports.append)
            yield from _in_rounds(rows, self._setup, orders.header, 0, subtask)
            _tell_done(self._setup, orders.header, reports)


class LiveStageFunction:
    """A later stage for `mapInArrow`: partition i is subtask i, epoch after epoch."""

    def __init__(self, setup: TaskSetup, stage: int) -> None:
        self._setup = setup
        self._stage = stage

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark in the worker."""
        subtask = partition()
        incoming = received(from_arrow(batches))
        senders = partitions_of(self._setup.stage_parallelism, self._stage - 1)
        for orders in _orders(self._setup):
            reports: list[TaskReport] = []
            rows = _host.run_stage(
                self._setup, orders.header, self._stage, subtask, rows_of_epoch(incoming, senders), reports.append
            )
            yield from _in_rounds(rows, self._setup, orders.header, self._stage, subtask)
            _tell_done(self._setup, orders.header, reports)
        # A worker that leaves a part of its input is not used again: what it keeps would be lost.
        for _ in incoming:
            pass


def _orders(setup: TaskSetup) -> Iterator[LiveOrders]:
    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber() > 0:
        raise TaskFailedError("the tasks of a pipelined job go on together, or not at all: none is tried again alone")
    lost = [f"{key} {value}" for key, value in OF_TASKS.items() if context.getLocalProperty(key) != value]
    if lost:
        raise TaskFailedError(f"Spark has started a task without {', '.join(lost)}: rows would wait for each other")
    spark_job = context.getLocalProperty(SPARK_JOB)
    assert spark_job is not None
    return orders_in_turn(setup.environment.storage, spark_job)


def _in_rounds(
    rows: Iterable[Envelope], setup: TaskSetup, header: LiveHeader, stage: int, subtask: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a task in one epoch, and the word that there are no more; the last stage sends none."""
    pending: list[Envelope] = []
    for row in rows:
        if row is END_OF_ROUND:
            if pending:
                yield to_arrow(pushed(pending))
                pending = []
        elif row.kind == Kind.FAILURE:
            # Said aside: rows on the way to the driver would wait for the end of the job.
            failure = failure_from_bytes(row.payload)
            leave_word(setup.environment.storage, header.outcome(stage, subtask), pickle.dumps(failure))
            leave_word(setup.environment.storage, header.failed)
            raise TaskFailedError(f"subtask {subtask} of stage {stage} has failed")
        elif row.kind != Kind.MESSAGE:
            pending.append(row)
    pending += end_rows(setup.stage_parallelism, stage, subtask)
    if pending:
        yield to_arrow(pushed(pending))


def _tell_done(setup: TaskSetup, header: LiveHeader, reports: list[TaskReport]) -> None:
    """What would be the last row of a task in epochs mode; some tasks only pass on rows, and are never done."""
    for report in reports:
        if report.done is not None:
            word = pickle.dumps(report)
            leave_word(setup.environment.storage, header.outcome(report.stage, report.subtask), word)
            reach("task.done")
