"""Spark's Java classes as the JVM keeps them in memory: a JVM that maps this file starts in half of the time.

The JVM writes the file when it ends (`recording`), and refuses one that was made by another Java or of other jars: it
starts without it then, as it does where there is none.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import cast

from pyspark import SparkContext

from penstock.common.cache_directory import cache_directory
from penstock.common.errors import EnvironmentNotReadyError
from penstock.engine.spark.java import java_executable
from penstock.engine.spark.spark_home import spark_home

_SILENT = "-Xlog:cds*=off"
"""What does not fit is not used; the user has nothing to do about it."""
_EXIT_SECONDS = 120
_recorded: Path | None = None


def archive_path() -> Path:
    """Where the archive of this Java and this Spark is, or would be."""
    java = Path(java_executable() or "java").resolve()
    jars = sorted((spark_home() / "jars").glob("*.jar"))
    states = [(file, file.stat()) for file in (java, *jars) if file.exists()]
    files = [(str(file), state.st_size, state.st_mtime_ns) for file, state in states]
    return cache_directory() / "jvm" / f"{blake2b(repr(files).encode(), digest_size=12).hexdigest()}.jsa"


def java_options() -> str:
    """What the JVM is told about the archive; nothing where there is none."""
    if _recorded is not None:
        return f"-XX:ArchiveClassesAtExit={_recorded} {_SILENT}"
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} -Xshare:auto {_SILENT}" if path.exists() else ""


@contextmanager
def recording() -> Generator[Path]:
    """The classes of the Spark session that is started and used inside become the archive; yields where it will be."""
    global _recorded  # noqa: PLW0603  one JVM per process
    if SparkContext._gateway is not None:  # pyright: ignore[reportPrivateUsage]
        raise EnvironmentNotReadyError("Spark runs already in this process; its classes are recorded from its start")
    path = archive_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    _recorded = path.with_suffix(f".{os.getpid()}")
    try:
        yield path
        _end_jvm()
        if not _recorded.exists():
            raise EnvironmentNotReadyError("the JVM has written no archive of its classes")
        _recorded.replace(path)
    finally:
        _recorded.unlink(missing_ok=True)
        _recorded = None


def _end_jvm() -> None:
    context = SparkContext._active_spark_context  # pyright: ignore[reportPrivateUsage]
    gateway = SparkContext._gateway  # pyright: ignore[reportPrivateUsage]
    assert context is not None, "nothing was run on Spark"
    assert gateway is not None
    context.stop()
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    process = cast("subprocess.Popen[bytes]", gateway.proc)
    if process.stdin is not None:
        process.stdin.close()
    process.wait(_EXIT_SECONDS)
