"""The jars with which Spark reads and writes Kafka: downloaded by Maven when they are first needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_POM = Path(__file__).with_name("pom.xml")
_CHECKOUT = Path(__file__).resolve().parents[3]


def spark_kafka_jars() -> list[str]:
    """Their paths."""
    cache = Path(os.environ.get("PENSTOCK_CACHE", _CHECKOUT / ".cache")) / "spark-kafka"
    if not (cache / ".complete").exists():
        command = ["mvn", "--batch-mode", "--quiet", "--file", str(_POM), "dependency:copy-dependencies"]
        subprocess.run([*command, f"-DoutputDirectory={cache}"], check=True)
        (cache / ".complete").touch()
    return sorted(map(str, cache.glob("*.jar")))
