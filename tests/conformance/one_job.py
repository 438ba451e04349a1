"""Scenarios that differ in their data alone: each a job of its own on the local engine, all in one job on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.connectors.collect_sink import CollectSink
from penstock.datastream import DataStream, StreamExecutionEnvironment

LOCAL = [pytest.param(("local", mode), id=f"local-{mode.lower()}") for mode in ("STREAMING", "BATCH")]
SPARK = [
    pytest.param(("spark", mode), id=f"spark-{mode.lower()}", marks=pytest.mark.spark)
    for mode in ("STREAMING", "BATCH")
]


def collect_each(env: StreamExecutionEnvironment, streams: Mapping[str, DataStream]) -> dict[str, list[Any]]:
    """Runs the streams in one job; the records of each, as `execute_and_collect` has them."""
    records: dict[str, list[Any]] = {name: [] for name in streams}
    for name, stream in streams.items():
        stream.sink_to(CollectSink(records[name].extend, stream.get_type()))
    env.execute()
    return records
