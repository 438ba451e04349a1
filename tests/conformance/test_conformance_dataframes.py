"""Spark DataFrames in, on either engine."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.common import Row
from penstock.common.errors import JobExecutionException
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.engine.spark.session import open_session

pytestmark = pytest.mark.spark
COUNT = 1_000


def payments(env: StreamExecutionEnvironment) -> DataStream:
    """Spark computes other ids each time it is asked."""
    session = open_session("penstock", "local[*]", {}, None)
    return env.from_dataframe(session.range(0, COUNT, 1, 5).selectExpr("id % 11 as card", "uuid() as payment"))


def test_a_spark_dataframe_is_a_stream_of_rows(env: StreamExecutionEnvironment) -> None:
    cards = payments(env).key_by("card").map(lambda row: row.card)
    assert Counter(cards.execute_and_collect()) == Counter(n % 11 for n in range(COUNT))


class PowerCut:
    """Fails, at once or when some results are published, until the power is back."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self._directory = directory
        self._at_once = at_once

    def __call__(self, row: Row) -> Row:
        is_due = self._at_once or list((self._directory / "out").glob("*.json"))
        if is_due and not (self._directory / "power is back").exists():
            raise RuntimeError("power cut")
        return row


def test_a_restart_goes_on_with_the_same_rows(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    env.configuration.set_string("execution.epoch.max-records", "200")
    power_cut = PowerCut(tmp_path, at_once=mode == "BATCH")  # batch is one epoch
    for attempt in range(2):
        stream = payments(env).uid("payments/1")
        stream.map(power_cut, output_type=stream.get_type()).sink_to(FileSink(str(tmp_path / "out"), "json"))
        assert "Spark DataFrame of card, payment" in env.explain("json")
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            (tmp_path / "power is back").touch()
        else:
            env.execute()
    (rows,) = (tmp_path / "checkpoint" / "dataframes").glob("*/rows")
    computed = [(row["card"], row["payment"]) for row in pq.read_table(rows).to_pylist()]
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    assert Counter((row["card"], row["payment"]) for row in map(json.loads, lines)) == Counter(computed)
    assert len(set(computed)) == COUNT
