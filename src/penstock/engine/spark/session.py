"""The Spark session: the user's, checked; or one of ours, with settings that make epochs fast and safe."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.common.errors import EnvironmentNotReadyError
from penstock.engine.spark.java import check_java
from penstock.engine.spark.jvm import start_context
from penstock.engine.spark.master import CONNECT_REFUSED, check_master
from penstock.engine.spark.spark_errors import short_message

REQUIRED = {
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.speculation": "false",
}
"""Without these a retried stage could mix the results of two attempts."""

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # rows are buffers of many records each
    "spark.python.udf.pipelined.enabled": "true",  # a thread writes to the worker while another reads from it
    # Over TCP each side waits for the other to acknowledge small pieces: 40 ms, three times in an epoch of two stages.
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
    "spark.shuffle.reduceLocality.enabled": "false",
}
_OF_STAGES = {
    "spark.sql.adaptive.enabled": "false",  # the number of a partition has a meaning
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""A row between stages is a buffer of many records: compiling Java for it costs more than it saves."""
_LOG_LEVEL = "spark.log.level"
_CLUSTER = {"spark.locality.wait": "1s"}
"""So long a task waits for a slot on the machine that has its state."""
_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.locality.wait": "100ms",
    # What is exchanged stays in the memory of this machine: to compress it costs more than it saves.
    "spark.shuffle.compress": "false",
}


def open_session(app_name: str, master: str | None, settings: Mapping[str, str], given: object | None) -> SparkSession:
    """The session to run on: the given one, the active one, or a new one."""
    if given is not None:
        return _checked(given)
    active = SparkSession.getActiveSession() or SparkSession._instantiatedSession  # pyright: ignore[reportPrivateUsage]
    if active is not None and active.sparkContext._jsc is not None:  # pyright: ignore[reportPrivateUsage]
        return _checked(active)
    return create_session(app_name, master, settings)


def create_session(app_name: str, master: str | None, settings: Mapping[str, str]) -> SparkSession:
    """A new session; there must be none."""
    check_java()
    conf = SparkConf().setAppName(app_name)
    master = master or str(conf.get("spark.master"))
    check_master(master)
    conf.setMaster(master)
    local = master.startswith("local")
    if local and "spark.pyspark.python" not in settings:
        # Spark's workers take "python3" from the PATH, which need not be the one that runs this program.
        os.environ["PYSPARK_PYTHON"] = sys.executable
    if master.startswith("local-cluster"):
        # Its executors are started by a script that a pip-installed Spark finds only this way.
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    place = _LOOPBACK if local else _CLUSTER
    for key, value in {**_DEFAULTS, **place, **REQUIRED, **settings}.items():
        conf.set(key, value)
    try:
        context = start_context(conf)
        if _LOG_LEVEL not in settings:
            # The JVM of an earlier session has that session's level.
            context.setLogLevel("ERROR")
        return _checked(SparkSession.builder.getOrCreate())
    except (PySparkException, Py4JError) as error:
        hint = "" if local else " Is the cluster there, and does it accept this driver?"
        raise EnvironmentNotReadyError(
            f"Spark could not be started on {master!r}: {short_message(error)}{hint}"
        ) from None


def session_of_stages(session: SparkSession) -> SparkSession:
    """A session for the plans of stages, on the same Spark application: the other one keeps its settings.

    What the application was not told of itself is as in sessions of ours: one that was handed in has Spark's
    defaults, which are made for rows of one record each.
    """
    own = session.newSession()
    application = session.sparkContext.getConf()
    told = {key: application.get(key) or value for key, value in _DEFAULTS.items()}
    for key, value in {**told, **REQUIRED, **_OF_STAGES}.items():
        if key.startswith("spark.sql."):
            own.conf.set(key, value)
    return own


def _checked(session: object) -> SparkSession:
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise EnvironmentNotReadyError(f"this is a Spark Connect session. {CONNECT_REFUSED}")
    if not isinstance(session, SparkSession):
        raise EnvironmentNotReadyError(f"expected a SparkSession, got {type(session).__name__}")
    # What is set nowhere is as Spark has it, and that is right.
    context = session.sparkContext.getConf()
    found = {key: session.conf.get(key, None) or context.get(key, value) for key, value in REQUIRED.items()}
    wrong = [f"{key} is {found[key]!r}, needed: {value!r}" for key, value in REQUIRED.items() if found[key] != value]
    if wrong:
        raise EnvironmentNotReadyError(
            "the Spark session lacks settings that keep retried stages from mixing two attempts: "
            + "; ".join(wrong)
            + ". Set them where the session is created."
        )
    return session
