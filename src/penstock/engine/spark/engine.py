"""The Spark engine: stages run as Spark jobs, on a laptop or a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.engine.epochs.spreading import Part, Result
from penstock.engine.python_dependencies import PythonDependencies
from penstock.engine.spark.distribution import SPARK_PYTHON, ship_package
from penstock.engine.spark.executor import SparkStageExecutor
from penstock.engine.spark.python_files import send_dependencies
from penstock.engine.spark.revival import REVIVAL, forget, is_alive, settings_of
from penstock.engine.spark.session import create_session, open_session, session_of_stages
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.task_host import TaskSetup


class SparkEngine:
    """Runs on the given session, the active one, or one of its own."""

    default_backend = "lmdb"

    def __init__(self, configuration: Configuration, session: object | None) -> None:
        self._configuration = configuration
        self._given = session
        self._dependencies = PythonDependencies.of(configuration)
        self._session: SparkSession | None = None
        self._settings: dict[str, str] = {}
        """What the session was made with."""

    def prepare(self) -> None:
        """Starts Spark; where it has died since, in the same way again."""
        with REVIVAL:
            if self._session is None:
                self._session = self._open()
                self._settings = settings_of(self._session)
            elif not is_alive(self._session):
                self._session = self._revived(self._session)
            else:
                return
            ship_package(self._session)
            self._shipped = send_dependencies(self._session.sparkContext, self._dependencies)

    def _revived(self, dead: SparkSession) -> SparkSession:
        other = SparkSession._instantiatedSession  # pyright: ignore[reportPrivateUsage]
        if other is not None and other is not dead and is_alive(other):
            return other
        forget(dead)
        return create_session("penstock", self._settings.get("spark.master"), self._settings)

    def _open(self) -> SparkSession:
        settings = {
            key: value
            for key, value in self._configuration.to_dict().items()
            if key.startswith("spark.") and key != options.SPARK_MASTER.key
        }
        python = self._configuration.get(options.PYTHON_EXECUTABLE)
        if python is not None:
            settings.setdefault(SPARK_PYTHON, python)
        given = self._configuration.contains(options.SPARK_MASTER) or "SPARK_MASTER" in os.environ
        # A program that spark-submit runs has its master from there.
        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        master = None if submitted and not given else self._configuration.get(options.SPARK_MASTER)
        return open_session("penstock", master, settings, self._given)

    def spread(self, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Calls a function with each of some parts, in a task each."""
        self.prepare()
        assert self._session is not None
        if not parts:
            return []
        return self._session.sparkContext.parallelize(parts, len(parts)).map(work).collect()

    def create_executor(self, job: CompiledJob, setup: TaskSetup) -> SparkStageExecutor:
        """An executor for one job."""
        assert self._session is not None, "an engine is prepared before it is used"
        session, setup = session_of_stages(self._session), replace(setup, files=self._shipped)
        return SparkStageExecutor(session, job, setup, self._timeout_seconds())

    def _timeout_seconds(self) -> float | None:
        timeout = options.CHECKPOINT_TIMEOUT
        return self._configuration.get(timeout) / 1000 if self._configuration.contains(timeout) else None
