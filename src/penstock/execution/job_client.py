"""The handle of a running job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.errors import JobExecutionException, PenstockError
from penstock.common.job import JobExecutionResult, JobID, JobStatus
from penstock.common.job_client import JobClient as CommonJobClient
from penstock.engine.epochs.runner import EpochRunner
from penstock.execution.live_display import show_live
from penstock.execution.progress_view import JobProgressView
from penstock.execution.run_records import RunRecord, RunState
from penstock.execution.why_not_fired import WhyNotFired, explain_watermarks
from penstock.plan.plan import Plan


class JobClient(CommonJobClient):
    """Watches and ends one job; the job runs in a thread of this process."""

    def __init__(
        self,
        runner: EpochRunner,
        job_id: JobID,
        plan: Plan,
        checkpoint: str,
        on_end: Callable[[], None],
        record: RunRecord | None = None,
    ) -> None:
        self._runner = runner
        self._job_id = job_id
        self._on_end = on_end
        self._record = record
        self.plan = plan
        """The plan as it runs."""
        self._result: Future[JobExecutionResult] = Future()
        self._cancel_asked = False
        self._started = time.monotonic()
        self._ended: float | None = None
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
            if self._cancel_asked:
                return JobStatus.CANCELLING
            return JobStatus.RESTARTING if self._runner.is_restarting else JobStatus.RUNNING
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

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """What the job has counted so far: the same as `metrics()`."""
        return CompletableFuture.completed(self.metrics())

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Waits for the end of the job; Ctrl-C cancels it, waits for the epoch under way and is raised again."""
        try:
            return self._result.result(timeout)
        except KeyboardInterrupt:
            self.cancel()
            self._thread.join()
            raise

    def has_ended(self, within: float = 0.0) -> bool:
        """Whether the job has ended, or does so within some seconds."""
        return bool(wait_for([self._result], within).done)

    @property
    def seconds(self) -> float:
        """How long the job has been running, or ran."""
        return (time.monotonic() if self._ended is None else self._ended) - self._started

    def metrics(self) -> dict[str, Any]:
        """Counts, rates, epoch phases and what tasks measured, as plain data."""
        return self._runner.progress.snapshot()

    def why_not_fired(self, uid_or_name: str | None = None) -> list[WhyNotFired]:
        """Why timers and windows of an operator still wait: which splits hold its watermark back, and by how much.

        Without a name: of all operators that may wait for event time. `print(*job.why_not_fired(), sep="\n")`
        """
        return explain_watermarks(self.plan, self._runner.progress.event_time, uid_or_name)

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

    def _repr_html_(self) -> str:
        return JobProgressView(self).html()

    def _ipython_display_(self) -> None:
        show_live(self)

    def __repr__(self) -> str:
        records = self.metrics()["records_read"]
        return f"<JobClient of '{self.plan.job_name}', {self.status.name}, {records:,} records read, {self._job_id}>"

    def _end(self, error: BaseException | None) -> None:
        if self._record is not None:
            stopped = RunState.STOPPED if self._cancel_asked else RunState.FINISHED
            self._record.ended(stopped if error is None else RunState.FAILED, error)
        self._on_end()
        self._ended = time.monotonic()
        if error is not None:
            self._result.set_exception(error)
        else:
            self._result.set_result(JobExecutionResult(self._job_id, int(self.seconds * 1000), self.metrics()))


def _failed(error: Exception) -> JobExecutionException:
    failure = JobExecutionException(f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
