"""Spark's workers import what the jobs here are made of: `faults.rolling_job`."""

from __future__ import annotations

import os

from services.modules_of_tests import python_path

os.environ["PYTHONPATH"] = python_path()
