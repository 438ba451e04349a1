"""The jar with which Flink reads and writes Kafka."""

from __future__ import annotations

from pathlib import Path

from common.maven_jars import jars_of


def flink_kafka_jars() -> list[str]:
    """Its path."""
    return jars_of(Path(__file__).with_name("pom.xml"), "flink-kafka")
