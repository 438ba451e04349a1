"""The interpreters of contenders that need an environment of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]
_CACHE = Path(os.environ.get("PENSTOCK_CACHE", _CHECKOUT / ".cache"))


def python_of(environment: str) -> Path:
    """The interpreter of an environment: `penstock` is this one, the others are made when they are first needed."""
    if environment == "penstock":
        return Path(sys.executable)
    subprocess.run([str(_CHECKOUT / "tools" / "bench_environment.sh"), environment], check=True)
    return _CACHE / "bench" / environment / "bin" / "python"
