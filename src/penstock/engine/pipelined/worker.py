"""The worker shell of pipelined mode: rows leave as soon as a task has nothing more to send for now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import SparkFiles, TaskContext

from penstock.common.errors import PenstockError
from penstock.engine.pipelined.live_header import END_OF_ROUND, LiveHeader, LiveOrders
from penstock.engine.pipelined.live_stage_subtask import received
from penstock.engine.pipelined.live_task_host import LiveTaskHost
from penstock.engine.pipelined.pipelined_plan import ORDERS
from penstock.engine.spark.task_reports import Reports
from penstock.engine.spark.worker import partition
from penstock.engine.stages.envelope import Envelope, Kind, from_arrow, to_arrow
from penstock.engine.stages.task_host import TaskSetup

_host = LiveTaskHost(SparkFiles.getRootDirectory)
"""One per worker process, as in epochs mode."""


def close_job(job_id: str) -> None:
    """The end of a job in this process."""
    _host.close_job(job_id)


class TaskFailedError(PenstockError):
    """A task has failed and has left a report of it in the checkpoint; Spark ends the tasks beside it."""


class LiveSourceFunction:
    """Stage 0 for `mapInArrow`: partition i follows the splits of task i."""

    def __init__(self, setup: TaskSetup, reports: Reports) -> None:
        self._setup = setup
        self._reports = reports

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark in the worker."""
        for _ in batches:
            pass
        subtask = partition()
        orders = _orders(self._setup)
        rows = _host.run_source(self._setup, orders.header, subtask, orders.tasks[subtask], self._reports.send)
        yield from _in_rounds(rows, self._setup, orders.header, 0, subtask)


class LiveStageFunction:
    """A later stage for `mapInArrow`: partition i is subtask i."""

    def __init__(self, setup: TaskSetup, stage: int, reports: Reports) -> None:
        self._setup = setup
        self._stage = stage
        self._reports = reports

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark in the worker."""
        subtask = partition()
        header = _orders(self._setup).header
        incoming = received(from_arrow(batches))
        rows = _host.run_stage(self._setup, header, self._stage, subtask, incoming, self._reports.send)
        yield from _in_rounds(rows, self._setup, header, self._stage, subtask)


def _orders(setup: TaskSetup) -> LiveOrders:
    context = TaskContext.get()
    assert context is not None
    path = context.getLocalProperty(ORDERS)
    assert path is not None
    return LiveOrders.from_bytes(setup.environment.storage.read(path))


def _in_rounds(
    rows: Iterable[Envelope], setup: TaskSetup, header: LiveHeader, stage: int, subtask: int
) -> Iterator[pa.RecordBatch]:
    pending: list[Envelope] = []
    for row in rows:
        if row is END_OF_ROUND:
            if pending:
                yield to_arrow(pending)
                pending = []
        elif row.kind == Kind.FAILURE:
            # Said aside: rows on the way to the driver would wait for the end of the epoch.
            setup.environment.storage.put_if_absent(header.failure_mark(stage, subtask), row.payload)
            raise TaskFailedError(f"subtask {subtask} of stage {stage} has failed")
        else:
            pending.append(row)
    if pending:
        yield to_arrow(pending)
