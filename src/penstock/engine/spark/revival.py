"""A Spark session that has died, and another in its place."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

_OF_ONE_APPLICATION = ("spark.app.", "spark.driver.port", "spark.executor.id", "spark.repl.")
_KEPT = "spark.app.name"
_LOST = (Py4JError, OSError)

REVIVAL = threading.Lock()
"""Jobs of one process share a session: one of them revives it, and the others find it alive."""


def is_alive(session: SparkSession) -> bool:
    """Whether jobs can run on the session: its JVM answers and its context has not been stopped."""
    java_context: Any = session.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]
    if java_context is None:
        return False
    try:
        return not java_context.sc().isStopped()
    except _LOST:
        return False


def jvm_answers() -> bool:
    """Whether the JVM of this process's sessions is there at all."""
    gateway = SparkContext._gateway  # pyright: ignore[reportPrivateUsage]
    return gateway is not None and _answers(gateway)


def settings_of(session: SparkSession) -> dict[str, str]:
    """What the session was made with, as far as another application can have it too."""
    settings: Mapping[str, str] = dict(session.sparkContext.getConf().getAll())
    return {key: value for key, value in settings.items() if key == _KEPT or not key.startswith(_OF_ONE_APPLICATION)}


def forget(session: SparkSession) -> None:
    """Makes pyspark forget a session that has died, and its JVM if that is gone: the next one is made from scratch."""
    gateway = SparkContext._gateway  # pyright: ignore[reportPrivateUsage]
    context = session.sparkContext
    with warnings.catch_warnings(), suppress(*_LOST):
        warnings.simplefilter("ignore", RuntimeWarning)
        session.stop()
    # Where the JVM is gone, the first call leaves in the middle; the second has no JVM to ask.
    with suppress(*_LOST):
        context.stop()
    SparkSession._instantiatedSession = None  # pyright: ignore[reportPrivateUsage]
    SparkSession._activeSession = None  # pyright: ignore[reportPrivateUsage]
    if gateway is None or _answers(gateway):
        return
    with suppress(Exception):
        gateway.shutdown()
    SparkContext._gateway = None  # pyright: ignore[reportPrivateUsage]
    SparkContext._jvm = None  # pyright: ignore[reportPrivateUsage]


def _answers(gateway: Any) -> bool:
    try:
        gateway.jvm.System.currentTimeMillis()
    except _LOST:
        return False
    return True
