"""The end of a job in the workers: its functions are closed, and executors forget its state."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.common.logs import job_logger
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.task_host import TaskSetup

_PATIENCE_SECONDS = 2.0
_POLL_SECONDS = 0.01


class CloseFunction:
    """A task that closes a job in the worker that it runs in."""

    def __init__(self, setup: TaskSetup, close_job: Callable[[str], None], workers: int) -> None:
        self._setup = setup
        self._close_job = close_job
        self._workers = workers

    @property
    def meeting_place(self) -> Path:
        """Where tasks leave word that they are there."""
        environment = self._setup.environment
        return environment.storage.resolve(f"closing/{environment.job_id}")

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark in the worker; yields what went wrong."""
        for _ in batches:
            pass
        context = TaskContext.get()
        assert context is not None
        failure: list[str] = []
        try:
            self._close_job(self._setup.environment.job_id)
        except Exception as error:
            failure.append(f"{type(error).__name__}: {error}")
        self._setup.environment.remove_local_state()
        self._meet(context.partitionId())
        yield pa.RecordBatch.from_pydict({"failure": pa.array(failure, pa.string())})

    def _meet(self, partition: int) -> None:
        """Waits until all tasks run: a worker that is not free yet is not given the next one, so each finds another.

        Not for long: there may be fewer slots than tasks.
        """
        end = time.monotonic() + _PATIENCE_SECONDS
        with suppress(OSError):
            (self.meeting_place / str(partition)).touch()
            while len(list(self.meeting_place.iterdir())) < self._workers and time.monotonic() < end:
                time.sleep(_POLL_SECONDS)


def close_in_workers(
    session: SparkSession, job: CompiledJob, setup: TaskSetup, close_job: Callable[[str], None], workers: int
) -> None:
    """Closes the functions of a job that has ended, by calling `close_job` in so many workers.

    It is done where it makes a difference: where a function has something to close, or state lies on other machines.
    What goes wrong is logged: the job has ended.
    """
    context = session.sparkContext
    is_here = str(context.master).startswith("local")
    if is_here and not any(_has_close(value) for value in _functions(job)):
        return
    logger = job_logger(job.name)
    close = CloseFunction(setup, close_job, workers)
    # A driver that was killed meanwhile has left word of tasks that are no more.
    shutil.rmtree(close.meeting_place, ignore_errors=True)
    with suppress(OSError):  # tasks that cannot meet close all the same
        close.meeting_place.mkdir(parents=True, exist_ok=True)
    try:
        context.setJobDescription(f"{job.name}: close")
        # By the same way as stages: Spark has other workers for other ways.
        tasks = session.range(0, workers, 1, workers).mapInArrow(close, "failure string")
        failures = [row.failure for row in tasks.collect()]
    except (PySparkException, Py4JError, OSError) as error:
        failures = [type(error).__name__]
    finally:
        shutil.rmtree(close.meeting_place.parent, ignore_errors=True)
    for failure in failures:
        logger.warning("a function could not be closed: %s", failure)


def _functions(job: CompiledJob) -> Iterator[Any]:
    for chain in job.chains:
        for node in chain.nodes:
            yield from vars(node).values()
        for edge in chain.outputs:
            yield from (edge.exchange.key_selector, edge.exchange.partitioner)


def _has_close(value: Any) -> bool:
    """Whether it is an object of the user's with a `close` of its own."""
    for kind in type(value).__mro__:
        if "close" in vars(kind):
            return not kind.__module__.startswith("penstock.")
    return False
