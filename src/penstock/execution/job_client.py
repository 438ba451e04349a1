"""The handle of a running job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.errors import ConfigurationError, JobExecutionException, PenstockError, UnsupportedError
from penstock.common.job import JobExecutionResult, JobID, JobStatus
from penstock.common.job_client import JobClient as CommonJobClient
from penstock.common.logs import job_logger, logging_about
from penstock.engine.epochs.runner import EpochRunner
from penstock.engine.epochs.savepoints import SavepointRequest
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
        on_end: Callable[[JobStatus, bool], None],
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
        self.is_asked_for = False
        """Whether anybody has asked for the result, and is told when the job fails."""
        self._started = time.monotonic()
        self._ended: float | None = None
        self.checkpoint = checkpoint
        """Where the job's manifests and state are: start the program again with it to go on."""
        self.savepoint_directory: str | None = None
        """Where savepoints go that are asked for without a directory."""
        self._caught_up: SavepointRequest | None = None
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
            if self._runner.is_standing_by:
                return JobStatus.CREATED
            return JobStatus.RESTARTING if self._runner.is_restarting else JobStatus.RUNNING
        if self._result.exception() is not None:
            return JobStatus.FAILED
        return JobStatus.CANCELED if self._cancel_asked else JobStatus.FINISHED

    def cancel(self) -> CompletableFuture[Any]:
        """Ends the job after the epoch under way; what is committed stays and the job can be started again."""
        if not self._result.done():
            self._cancel_asked = True
            self._runner.cancel()
        return self.get_job_execution_result()

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Writes a savepoint of the next epoch, into a new directory in the one that is given; the job goes on.

        The answer is the path of the savepoint.
        """
        return self._ask_for_savepoint(SavepointRequest(self._directory(savepoint_directory)))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Ends the job with a savepoint, whose path is the answer; all output up to it is published.

        With `advance_to_end_of_event_time` all windows and event-time timers fire before: for a job that does not go
        on. A job whose savepoint cannot be written goes on.
        """
        directory = self._directory(savepoint_directory)
        return self._ask_for_savepoint(SavepointRequest(directory, stops=True, drains=advance_to_end_of_event_time))

    def stop_when_caught_up(self, savepoint_directory: str) -> None:
        """Ends the job with a savepoint when its sources have nothing left to read. To be called before `start`."""
        self._caught_up = self._runner.when_caught_up = SavepointRequest(savepoint_directory, stops=True)

    def savepoint_when_caught_up(self) -> str:
        """Waits for that savepoint; its path."""
        assert self._caught_up is not None
        return CompletableFuture(self._caught_up.result).result()

    def _ask_for_savepoint(self, request: SavepointRequest) -> CompletableFuture[str]:
        if self.plan.batch:
            raise UnsupportedError("a job in batch execution has no savepoints: its state is not kept")
        answer = self._runner.savepoints.ask(request)
        self._runner.hasten()
        return CompletableFuture(answer)

    def _directory(self, given: str | None) -> str:
        directory = given if given is not None else self.savepoint_directory
        if directory is None:
            raise ConfigurationError(
                "a savepoint needs a directory: give one, or set execution.checkpointing.savepoint-dir"
            )
        return directory

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result when the job has ended; raises `JobExecutionException` when it failed."""
        self.is_asked_for = True
        return CompletableFuture(self._result)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """What the job has counted so far: the same as `metrics()`."""
        return CompletableFuture.completed(self.metrics())

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Waits for the end of the job; Ctrl-C cancels it, waits for the epoch under way and is raised again."""
        try:
            return self.get_job_execution_result().result(timeout)
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
            with logging_about(job=self.plan.job_name):
                self._runner.run()
        except PenstockError as error:
            # It says all that a person needs: what it was made of is of use in the log alone.
            job_logger(self.plan.job_name).debug("the job failed", exc_info=error)
            self._end(error if isinstance(error, JobExecutionException) else _failed(error, None))
        except Exception as error:
            self._end(_failed(error, error))
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
        try:
            if self._record is not None:
                stopped = RunState.STOPPED if self._cancel_asked else RunState.FINISHED
                self._record.ended(stopped if error is None else RunState.FAILED, error)
            ended = JobStatus.CANCELED if self._cancel_asked else JobStatus.FINISHED
            self._on_end(ended if error is None else JobStatus.FAILED, self._runner.owns_job)
        except Exception as problem:
            job_logger(self.plan.job_name).warning("the job's end cannot be noted down: %s", problem)
        finally:
            # Whatever else goes wrong: nobody waits for ever.
            self._ended = time.monotonic()
            if isinstance(error, JobExecutionException) and error.report is not None:
                # The report says where it happened; the frames of the driver's loop say nothing to anyone.
                error = error.with_traceback(None)
            if error is not None:
                self._result.set_exception(error)
            else:
                self._result.set_result(JobExecutionResult(self._job_id, int(self.seconds * 1000), self.metrics()))


def _failed(error: Exception, cause: Exception | None) -> JobExecutionException:
    failure = JobExecutionException(f"{type(error).__name__}: {error}")
    failure.__cause__ = cause
    return failure
