"""Where Spark's own files are."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark


def spark_home() -> Path:
    """$SPARK_HOME, else the installed PySpark, which has all of Spark in it."""
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
