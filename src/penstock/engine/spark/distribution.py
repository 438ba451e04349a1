"""How Penstock itself reaches executors: as one zip file that Spark hands to every worker.

Its native dependencies (pyarrow, numpy, lmdb) are wheels and cannot travel in a zip: executors have them installed, or
get a packed environment through `spark.archives`. `docs/how-to/run-on-a-cluster.md` shows both.
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

import penstock
from penstock.engine.spark.folders import folder_until_exit

SPARK_PYTHON = "spark.pyspark.python"

_shipped: set[str] = set()
"""The Spark applications that have the package already."""


def ship_package(session: SparkSession) -> None:
    """Adds the package to the session's Python files, once; needless where tasks run on this machine's Python."""
    context = session.sparkContext
    _choose_python(context)
    application = str(context.applicationId)
    if application in _shipped or _runs_here(str(context.master)):
        return
    context.addPyFile(str(_package_zip()))
    _shipped.add(application)


def _choose_python(context: SparkContext) -> None:
    """Gives workers the Python that was asked for, or on this machine the one that runs this program.

    Only `spark-submit` looks at the setting: a context that a plain Python program makes takes no notice of it, and its
    workers are the first `python3` of the PATH, which need not have Penstock.
    """
    python = context.getConf().get(SPARK_PYTHON)
    if python:
        context.pythonExec = python
    elif _runs_here(str(context.master)) and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


def _runs_here(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _package_zip() -> Path:
    package = Path(penstock.__file__).resolve().parent
    target = folder_until_exit("penstock-package-") / "penstock.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*.py")):
            archive.write(path, Path("penstock") / path.relative_to(package))
    return target
