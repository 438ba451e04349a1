"""Jars that peers need: downloaded by Maven when they are first needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]


def jars_of(pom: Path, name: str) -> list[str]:
    """The paths of all that a POM depends on; they are kept in the cache under a name."""
    cache = Path(os.environ.get("PENSTOCK_CACHE", _CHECKOUT / ".cache")) / name
    if not (cache / ".complete").exists():
        command = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), "dependency:copy-dependencies"]
        subprocess.run([*command, f"-DoutputDirectory={cache}"], check=True)
        (cache / ".complete").touch()
    return sorted(map(str, cache.glob("*.jar")))
