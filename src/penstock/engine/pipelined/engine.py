"""The engine of pipelined mode: Spark, with sessions whose tasks hand rows on one by one."""

from __future__ import annotations

import os
from dataclasses import replace

import pyspark
from pyspark.sql import SparkSession

from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.common.errors import UnsupportedError
from penstock.common.pipelined_options import PIPELINED_MIN_EPOCH_MS, live_buffer_timeout, live_epoch_length
from penstock.engine.pipelined.checks import SETTINGS_AT_START, check_spark_settings
from penstock.engine.pipelined.executor import PipelinedStageExecutor
from penstock.engine.pipelined.live_header import LiveSettings
from penstock.engine.spark.engine import SparkEngine
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.task_host import TaskSetup

_SPARK = "4.3."
"""Which exchanges are pipelined, and how, is no public interface of Spark: other versions have to be tried first."""

_LOCAL_MASTER = "local[64]"
"""All tasks of all stages run at once, and mostly wait: slots, not cores."""


class PipelinedEngine(SparkEngine):
    """Runs on a session that was made for it."""

    def __init__(self, configuration: Configuration, session: object | None) -> None:
        if not pyspark.__version__.startswith(_SPARK):
            raise UnsupportedError(
                f"execution.latency 'pipelined' works with Spark {_SPARK}x alone; this is {pyspark.__version__}"
            )
        super().__init__(_with_settings(configuration), session)
        self._live = LiveSettings(
            seconds=max(live_epoch_length(configuration), PIPELINED_MIN_EPOCH_MS) / 1000,
            buffer_timeout=live_buffer_timeout(configuration) / 1000,
        )

    def create_executor(self, job: CompiledJob, setup: TaskSetup) -> PipelinedStageExecutor:
        """An executor for one job."""
        assert self._session is not None, "an engine is prepared before it is used"
        setup = replace(setup, files=self._shipped)
        return PipelinedStageExecutor(_own_session(self._session), job, setup, self._live, self._timeout_seconds())

    def _timeout_seconds(self) -> float | None:
        """As in Flink, it is the end of the epoch that may not take longer: the epoch itself takes what it lasts."""
        # Tasks that stay are watched in any case: one that hangs would hold all others up for ever.
        return self._live.seconds + self._configuration.get(options.CHECKPOINT_TIMEOUT) / 1000


def _with_settings(configuration: Configuration) -> Configuration:
    settings = Configuration(configuration)
    for key, value in SETTINGS_AT_START.items():
        if not settings.contains_key(key):
            settings.set_string(key, value)
    has_master = settings.contains(options.SPARK_MASTER) or "SPARK_MASTER" in os.environ
    if not has_master and "PYSPARK_GATEWAY_PORT" not in os.environ:
        settings.set_string(options.SPARK_MASTER.key, _LOCAL_MASTER)
    return settings


def _own_session(session: SparkSession) -> SparkSession:
    """A session beside the one that others may use, on the same Spark application."""
    check_spark_settings(dict(session.sparkContext.getConf().getAll()))
    own = session.newSession()
    own.conf.set("spark.sql.adaptive.enabled", "false")
    return own
