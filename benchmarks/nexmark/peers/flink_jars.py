"""The jars with which Flink reads and writes Parquet."""

from __future__ import annotations

from pathlib import Path

from common.maven_jars import jars_of


def flink_parquet_jars() -> list[str]:
    """Their paths."""
    return jars_of(Path(__file__).with_name("flink_parquet_pom.xml"), "flink-parquet")
