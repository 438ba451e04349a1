"""Starts Spark's JVM: without the lines that it greets every terminal with, and faster than by itself."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

import penstock
from penstock.common.completable_future import CompletableFuture
from penstock.common.own_thread import in_own_thread
from penstock.engine.spark import worker_daemon
from penstock.engine.spark.class_archive import java_options
from penstock.engine.spark.jvm_stderr import JvmStandardError
from penstock.engine.spark.spark_home import spark_home

_LOGGING = Path(__file__).with_name("log4j2-quiet.properties")
_LOGGING_FORMS = ("properties", "yaml", "yml", "json", "jsn", "xml")
_LAUNCHER_OPTIONS = "SPARK_SUBMIT_OPTS"
_QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
"""The JVM's second compiler would make its code a little faster after minutes, and takes a core from us until then:
what is done for each record is done in Python. On a cluster the driver's work grows with the tasks, and is worth it."""
_PYTHON_PATH = "PYTHONPATH"
_STARTING = threading.Lock()
"""A start that nobody waits for any more may still be under way when there is another."""
_launched_here = False


def start_context(conf: SparkConf) -> SparkContext:
    """A SparkContext, on the JVM that runs already or on a new one, which is quiet.

    A thread of its own makes it. Made by the main thread, it would let Ctrl-C cancel all Spark jobs, and with them the
    epoch that is to be finished; and Ctrl-C while the JVM starts would leave one behind that never ends.
    """
    return CompletableFuture(in_own_thread(lambda: _start_context(conf), "penstock-spark-start")).result()


def _start_context(conf: SparkConf) -> SparkContext:
    global _launched_here  # noqa: PLW0603  one JVM per process
    with _STARTING:
        if SparkContext._gateway is not None:  # pyright: ignore[reportPrivateUsage]
            if _launched_here:
                _use_own_daemon(conf)
            return SparkContext.getOrCreate(conf)
        standard_error = JvmStandardError()
        _use_own_daemon(conf)
        try:
            with _environment(_of_jvm(is_local=_is_local(conf))):
                gateway = launch_gateway(conf, {"stderr": standard_error.write_end})
        finally:
            os.close(standard_error.write_end)
        _launched_here = True
        return SparkContext(conf=conf, gateway=gateway)


def _use_own_daemon(conf: SparkConf) -> None:
    """Workers on this machine, of this very interpreter, have what this process has installed."""
    if _is_local(conf) and not conf.contains("spark.pyspark.python") and Path(pyspark.__file__).exists():
        conf.setIfMissing("spark.python.daemon.module", worker_daemon.__name__)


def _is_local(conf: SparkConf) -> bool:
    return str(conf.get("spark.master")).partition("[")[0] == "local"


def _of_jvm(*, is_local: bool) -> dict[str, str]:
    """What the JVM's environment has more than ours.

    Java options by way of the environment come before those of the session and of spark-defaults.conf, which stay as
    they are, and win.
    """
    options = [_QUICK_COMPILER if is_local else "", java_options(), os.environ.get(_LAUNCHER_OPTIONS, "")]
    if _LOGGING.exists() and not _has_own_logging():
        options.insert(0, f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}")
    # Workers find this package by it where the program has found it by a path of its own.
    path = [os.environ.get(_PYTHON_PATH, ""), str(Path(penstock.__file__).parents[1])]
    return {_LAUNCHER_OPTIONS: " ".join(filter(None, options)), _PYTHON_PATH: os.pathsep.join(filter(None, path))}


@contextmanager
def _environment(more: Mapping[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _has_own_logging() -> bool:
    directory = Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf")
    return any(Path(directory, f"log4j2.{form}").exists() for form in _LOGGING_FORMS)
