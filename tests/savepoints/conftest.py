"""Spark's workers import what the jobs here define: `savepoints.ledger_job`."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
