"""The jars with which Spark reads and writes Kafka."""

from __future__ import annotations

from pathlib import Path

from common.maven_jars import jars_of


def spark_kafka_jars() -> list[str]:
    """Their paths."""
    return jars_of(Path(__file__).with_name("pom.xml"), "spark-kafka")
