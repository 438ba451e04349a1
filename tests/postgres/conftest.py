"""Spark's workers import what the jobs here are made of: `faults.rolling_job`."""

from __future__ import annotations

import os
from pathlib import Path

_TESTS = str(Path(__file__).parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_TESTS, os.environ.get("PYTHONPATH"))))
