"""The worker shell: what Spark calls in a Python worker. Turns Arrow batches into envelopes and back."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark import SparkFiles, TaskContext

from penstock.connectors.sink import EpochId
from penstock.engine.spark.task_reports import Reports
from penstock.engine.stages.envelope import Envelope, from_arrow, to_arrow
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.publish_host import PublishFailure, PublishHost, SubtaskOutput
from penstock.engine.stages.task_host import TaskHost, TaskSetup

_MAX_BATCH_BYTES = 4 << 20

_host = TaskHost(SparkFiles.getRootDirectory)
"""One per worker process: Spark reuses workers, and with them what they keep between epochs."""


_publish_host = PublishHost(SparkFiles.getRootDirectory)
"""Here too what is kept between epochs are connections: to a database, to a message log."""


def close_job(job_id: str) -> None:
    """The end of a job in this process."""
    _host.close_job(job_id)


_tuned = False


def _tune_process() -> None:
    """Python looks for cycles after every 700 new objects; with batches of many records that is half of the time.

    And PySpark looks for them in all objects after every task, before the worker takes the next one: among the modules
    of Arrow, pandas and PySpark alone for a tenth of a second. They stay for ever, and are left out from now on.
    """
    global _tuned  # noqa: PLW0603  once per process
    if not _tuned:
        gc.set_threshold(1_000_000, 20, 20)
        gc.freeze()
        _tuned = True


def partition() -> int:
    """The number of the task that this process works on."""
    _tune_process()
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _in_batches(rows: Iterable[Envelope]) -> Iterator[pa.RecordBatch]:
    pending: list[Envelope] = []
    size = 0
    for row in rows:
        pending.append(row)
        size += len(row.payload)
        if size >= _MAX_BATCH_BYTES:
            yield to_arrow(pending)
            pending, size = [], 0
    if pending:
        yield to_arrow(pending)


class SourceStageFunction:
    """Stage 0 for `mapInArrow`: partition i does the reads of task i."""

    def __init__(
        self, setup: TaskSetup, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]], reports: Reports
    ) -> None:
        self._reports = reports
        self._setup = setup
        self._header = header
        self._tasks = tasks

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark in the worker."""
        for _ in batches:
            pass
        subtask = partition()
        rows = _host.run_source(self._setup, self._header, subtask, self._tasks[subtask], self._reports.send)
        yield from _in_batches(rows)


class StageFunction:
    """A later stage for `mapInArrow`: partition i is subtask i."""

    def __init__(self, setup: TaskSetup, header: EpochHeader, stage: int, reports: Reports) -> None:
        self._reports = reports
        self._setup = setup
        self._header = header
        self._stage = stage

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark in the worker."""
        incoming = from_arrow(batches)
        rows = _host.run_stage(self._setup, self._header, self._stage, partition(), incoming, self._reports.send)
        yield from _in_batches(rows)


class PublishFunction:
    """A task of the job that publishes an epoch: the output of one subtask of a sink."""

    def __init__(self, setup: TaskSetup, epoch: EpochId) -> None:
        self._setup = setup
        self._epoch = epoch

    def __call__(self, output: SubtaskOutput) -> PublishFailure | None:
        """Called by Spark in the worker."""
        return _publish_host.publish(self._setup, self._epoch, output)
