"""What is said where Spark has too few slots: all tasks of a pipelined job stay for as long as it runs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyspark
import pytest

from penstock.engine.pipelined.slots import too_few_slots

PROGRAM = """
import os, sqlite3
from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink

sqlite3.connect("shop.db").execute("CREATE TABLE balances (account TEXT PRIMARY KEY, balance INTEGER)")
connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{os.getcwd()}/shop.db").build()
balance = Types.ROW_NAMED(["account", "balance"], [Types.STRING(), Types.LONG()])
configuration = Configuration()
configuration.set_string("execution.latency", "pipelined")
configuration.set_string("spark.default.parallelism", "64")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
payments = env.from_collection([Row("ada", 5), Row("bob", 7), Row("ada", -2)], balance)
payments.key_by("account").sum("balance").sink_to(JdbcSink.upsert("balances", ["account"], balance, connection))
env.execute("balances")
"""


def test_where_other_jobs_have_the_slots_more_are_asked_for_than_there_are() -> None:
    told = too_few_slots("balances", 3, "", slots=5)
    assert "Spark has fewer slots free: other work has taken some of its 5. " in told
    assert "spark.master local[10]" in told
    assert "other work" not in too_few_slots("balances", 3, "", slots=2)
    assert "other work" not in too_few_slots("balances", 3, "and those that publish beside them", slots=3)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("slots", "told"),
    [
        (2, "all 3 tasks of the job 'balances' run at the same time, and Spark has fewer slots free"),
        (3, "all 3 tasks of the job 'balances', and those that publish beside them, run at the same time"),
    ],
)
def test_too_few_slots_are_told_with_how_many_it_takes(slots: int, told: str, tmp_path: Path) -> None:
    done = run_program(f"local[{slots}]", tmp_path)
    assert done.returncode != 0
    assert told in done.stderr
    assert "spark.master local[5]" in done.stderr


@pytest.mark.spark
def test_executors_that_have_not_come_yet_are_waited_for(tmp_path: Path) -> None:
    done = run_program("local-cluster[4,1,1024]", tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        assert shop.execute("SELECT * FROM balances ORDER BY account").fetchall() == [("ada", 3), ("bob", 7)]


def run_program(master: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        cwd=directory,
        env={**os.environ, "SPARK_MASTER": master, "SPARK_HOME": str(Path(pyspark.__file__).parent)},
    )
