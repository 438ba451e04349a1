"""Where processes that tests start find the modules of tests."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def python_path() -> str:
    """PYTHONPATH with the tests before what is in it."""
    return os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
