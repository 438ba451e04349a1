"""The handle of a running job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.errors import JobExecutionException, PenstockError
from penstock.common.job import JobExecutionResult, JobID, JobStatus
from penstock.engine.epochs.runner import EpochRunner


class JobClient:
    """Watches and ends one job; the job runs in a thread of this process."""

    def __init__(self, runner: EpochRunner, job_id: JobID, checkpoint: str, on_end: Callable[[], None]) -> None:
        self._runner = runner
        self._job_id = job_id
        self._on_end = on_end
        self._result: Future[JobExecutionResult] = Future()
        self._cancel_asked = False
        self._started = time.monotonic()
        self.checkpoint = checkpoint
        """Where the job's manifests and state are: start the program again with it to go on."""
        self._thread = threading.Thread(target=self._run, name=f"penstock-job-{job_id}", daemon=True)

    def start(self) -> JobClient:
        """Starts the job's thread."""
        self._result.set_running_or_notify_cancel()
        self._thread.start()
        return self

    def get_job_id(self) -> JobID:
        """The id of this run of the job."""
        return self._job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """What the job is doing."""
        return CompletableFuture.completed(self.status)

    @property
    def status(self) -> JobStatus:
        """What the job is doing."""
        if not self._result.done():
            return JobStatus.CANCELLING if self._cancel_asked else JobStatus.RUNNING
        if self._result.exception() is not None:
            return JobStatus.FAILED
        return JobStatus.CANCELED if self._cancel_asked else JobStatus.FINISHED

    def cancel(self) -> CompletableFuture[Any]:
        """Ends the job after the epoch under way; what is committed stays and the job can be started again."""
        self._cancel_asked = True
        self._runner.cancel()
        return CompletableFuture(self._result)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result when the job has ended; raises `JobExecutionException` when it failed."""
        return CompletableFuture(self._result)

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Waits for the end of the job; Ctrl-C cancels it, waits for the epoch under way and is raised again."""
        try:
            return self._result.result(timeout)
        except KeyboardInterrupt:
            self.cancel()
            self._thread.join()
            raise

    def metrics(self) -> dict[str, Any]:
        """Counts, rates, epoch phases and what tasks measured, as plain data."""
        return self._runner.progress.snapshot()

    def _run(self) -> None:
        try:
            self._runner.run()
        except PenstockError as error:
            self._end(error if isinstance(error, JobExecutionException) else _failed(error))
        except Exception as error:
            self._end(_failed(error))
        except BaseException as error:
            self._end(error)
        else:
            self._end(None)

    def _end(self, error: BaseException | None) -> None:
        self._on_end()
        if error is not None:
            self._result.set_exception(error)
        else:
            runtime = int((time.monotonic() - self._started) * 1000)
            self._result.set_result(JobExecutionResult(self._job_id, runtime, self.metrics()))


def _failed(error: Exception) -> JobExecutionException:
    failure = JobExecutionException(f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
