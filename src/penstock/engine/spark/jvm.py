"""Starts Spark's JVM without the lines that it greets every terminal with."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from penstock.engine.spark.jvm_stderr import JvmStandardError

_LOGGING = Path(__file__).with_name("log4j2-quiet.properties")
_LOGGING_FORMS = ("properties", "yaml", "yml", "json", "jsn", "xml")
_LAUNCHER_OPTIONS = "SPARK_SUBMIT_OPTS"


def start_context(conf: SparkConf) -> SparkContext:
    """A SparkContext, on the JVM that runs already or on a new one, which is quiet."""
    if SparkContext._gateway is not None:  # pyright: ignore[reportPrivateUsage]
        return SparkContext.getOrCreate(conf)
    standard_error = JvmStandardError()
    try:
        with _quiet_logging():
            gateway = launch_gateway(conf, {"stderr": standard_error.write_end})
    finally:
        os.close(standard_error.write_end)
    return SparkContext(conf=conf, gateway=gateway)


@contextmanager
def _quiet_logging() -> Generator[None]:
    """Gives the JVM our logging, unless Spark's configuration directory has one.

    By way of the environment: what it says comes before the Java options of the session and of spark-defaults.conf,
    which stay as they are, and win.
    """
    given = os.environ.get(_LAUNCHER_OPTIONS)
    if not _LOGGING.exists() or _has_own_logging():
        yield
        return
    os.environ[_LAUNCHER_OPTIONS] = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {given or ''}".strip()
    try:
        yield
    finally:
        if given is None:
            del os.environ[_LAUNCHER_OPTIONS]
        else:
            os.environ[_LAUNCHER_OPTIONS] = given


def _has_own_logging() -> bool:
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    directory = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"))
    return any(Path(directory, f"log4j2.{form}").exists() for form in _LOGGING_FORMS)
