"""Who wants to hear of the jobs of an environment."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.common.job import JobExecutionResult
from penstock.common.job_client import JobClient


class JobListener(ABC):
    """Is told of jobs: register one with `env.register_job_listener(...)`.

    Exactly one of the two arguments of each method is given, the other is None.
    """

    @abstractmethod
    def on_job_submitted(self, job_client: JobClient | None, throwable: BaseException | None) -> None:
        """A job was started, or could not be."""

    @abstractmethod
    def on_job_executed(self, job_execution_result: JobExecutionResult | None, throwable: BaseException | None) -> None:
        """A job that `execute` waited for has ended, or failed."""
