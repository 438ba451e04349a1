"""The handle of a running job, as a program sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.errors import UnsupportedError
from penstock.common.job import JobExecutionResult, JobID, JobStatus


class JobClient(ABC):
    """Watches and ends one job. `env.execute_async()` returns one."""

    @abstractmethod
    def get_job_id(self) -> JobID:
        """The id of this run of the job."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """What the job is doing."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[Any]:
        """Ends the job; what is committed stays, and the job can be started again."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result when the job has ended; raises `JobExecutionException` when it failed."""

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """What the job has counted so far."""

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Ends the job with a savepoint, whose path is the answer."""
        raise UnsupportedError(f"{type(self).__name__} has no savepoints")

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Writes a savepoint while the job goes on; its path is the answer."""
        raise UnsupportedError(f"{type(self).__name__} has no savepoints")
