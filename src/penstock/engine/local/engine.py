"""The local engine: everything in this process, deterministic, without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.common.configuration import Configuration
from penstock.common.errors import ConfigurationError
from penstock.engine.epochs.spreading import Part, Result, in_this_process
from penstock.engine.local.executor import LocalStageExecutor
from penstock.engine.local.python_files import LocalFiles
from penstock.engine.python_dependencies import PythonDependencies
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.job_resources import ShippedFiles
from penstock.engine.stages.task_host import TaskSetup


class LocalEngine:
    """For tests, notebooks and machines without Java."""

    default_backend = "memory"

    def __init__(self, configuration: Configuration, session: object | None) -> None:
        if session is not None:
            raise ConfigurationError("the local engine uses no SparkSession; set execution.engine to 'spark'")
        self._dependencies = PythonDependencies.of(configuration)
        self._files = LocalFiles()
        self._shipped: ShippedFiles | None = None

    def prepare(self) -> None:
        """Puts what the job imports where it is found."""
        if self._shipped is None:
            self._shipped = self._files.provide(self._dependencies)

    def create_executor(self, job: CompiledJob, setup: TaskSetup) -> LocalStageExecutor:
        """An executor for one job."""
        return LocalStageExecutor(job, replace(setup, files=self._shipped or ShippedFiles()), self._files)

    def spread(self, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Calls a function with each of some parts, one after the other."""
        return in_this_process(work, parts)
