"""Whole jobs into a real PostgreSQL: every row once, whoever is killed."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from faults.processes import KILLED
from faults.rolling_job import expected, write_input
from penstock.cli.dev_servers.postgres import PASSWORD, USER
from penstock.common import Configuration, Types, fail_points
from penstock.common.errors import JobExecutionException, SinkError
from penstock.common.fail_points import ENVIRONMENT_VARIABLE
from penstock.connectors.jdbc import JdbcSink, JdbcSource, table_reader
from penstock.connectors.jdbc.table_reader import TableReader
from penstock.datastream import StreamExecutionEnvironment
from postgres.table_job import COLUMNS, published, start_table_job
from services.postgres import Postgres
from services.python_process import run_python

SCRIPT = Path(__file__).with_name("table_job.py")
LOCAL = {"execution.engine": "local", "execution.epoch.max-records": "25"}
SPARK = {"execution.engine": "spark", "spark.master": "local[2]", "execution.epoch.max-records": "500"}
SECONDS = 120


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_input(tmp_path / "in")
    return tmp_path


def run_process(directory: Path, table: str, url: str, fail_points: str = "") -> subprocess.CompletedProcess[str]:
    address = f"{url}?user={USER}&password={PASSWORD}"
    return run_python(SCRIPT, directory, table, address, more_environment={ENVIRONMENT_VARIABLE: fail_points})


@pytest.mark.spark
def test_a_job_on_spark_reads_slices_and_publishes_every_row_once(postgres: Postgres) -> None:
    payments = postgres.create_table("id bigint PRIMARY KEY, card text, at timestamptz")
    postgres.execute(f"INSERT INTO {payments} SELECT n, 'c' || n % 7, to_timestamp(n) FROM generate_series(1, 1000) n")
    newest = postgres.create_table("card text PRIMARY KEY, id bigint, at timestamptz")
    type_info = Types.ROW_NAMED(["id", "card", "at"], [Types.LONG(), Types.STRING(), Types.INSTANT()])
    source = JdbcSource.builder().set_connection_options(postgres.options()).set_table(payments).set_slices(4).build()
    configuration = Configuration()
    for key, value in SPARK.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    greatest = env.from_source(source).key_by("card").max_by("id")
    greatest.sink_to(JdbcSink.upsert(newest, ["card"], type_info, postgres.options()))
    env.execute()
    assert postgres.query(f"SELECT card, id, extract(epoch FROM at)::int FROM {newest} ORDER BY id") == [
        (f"c{number % 7}", number, number) for number in range(994, 1001)
    ]


STEPS = ["sink.jdbc.claimed@3", "sink.jdbc.written@3", "sink.jdbc.published@3"]


@pytest.mark.faults
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_killed_at_any_step_goes_on_where_it_was(postgres: Postgres, directory: Path, step: str) -> None:
    table = postgres.create_table(COLUMNS)
    killed = run_process(directory, table, postgres.address, f"{step}=kill")
    assert killed.returncode == KILLED, killed.stderr
    finished = run_process(directory, table, postgres.address)
    assert finished.returncode == 0, finished.stderr
    assert published(postgres, table) == expected(directory / "in")
    assert PASSWORD + "@" not in finished.stderr


@pytest.mark.faults
@pytest.mark.parametrize("point", ["sink.jdbc.written", "sink.jdbc.published"])
def test_the_server_is_killed_and_restarted_in_mid_epoch(postgres: Postgres, directory: Path, point: str) -> None:
    table = postgres.create_table(COLUMNS)
    hits = 0
    is_down = threading.Event()

    def kill_the_server(name: str) -> None:
        nonlocal hits
        hits += name == point
        if name == point and hits == 3:
            postgres.kill()
            is_down.set()

    fail_points.arm(kill_the_server)
    try:
        job = start_table_job(directory, table, postgres.options(), LOCAL)
        assert is_down.wait(SECONDS)
        postgres.start()
        job.wait(SECONDS)
    finally:
        fail_points.arm(None)
    assert hits > 3
    assert published(postgres, table) == expected(directory / "in")


@pytest.mark.faults
def test_the_server_is_killed_and_restarted_while_its_rows_are_read(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = postgres.create_table("id bigint PRIMARY KEY")
    postgres.execute(f"INSERT INTO {table} SELECT generate_series(1, 1000)")
    copies = postgres.create_table("id bigint")
    monkeypatch.setattr(table_reader, "_FETCH_ROWS", 100)
    convert, pieces, is_down = TableReader._columns, iter(range(1000)), threading.Event()

    def kill_the_server(reader: TableReader, rows: Any) -> Any:
        if next(pieces) == 3:
            postgres.kill()
            is_down.set()
        return convert(reader, rows)

    monkeypatch.setattr(TableReader, "_columns", kill_the_server)
    configuration = Configuration().set_string("execution.engine", "local")
    configuration.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoint"))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = JdbcSource.builder().set_connection_options(postgres.options()).set_table(table).set_slices(2).build()
    env.from_source(source).sink_to(JdbcSink.insert(copies, source.produced_type, postgres.options()))
    job = env.execute_async()
    assert is_down.wait(SECONDS)
    postgres.start()
    job.wait(SECONDS)
    assert job.metrics()["restarts"] == 1
    assert postgres.query(f"SELECT count(*), count(DISTINCT id) FROM {copies}") == [(1000, 1000)]


def test_a_checkpoint_older_than_the_table_is_refused(postgres: Postgres, directory: Path) -> None:
    table = postgres.create_table(COLUMNS)
    start_table_job(directory, table, postgres.options(), LOCAL).wait(SECONDS)
    postgres.execute("UPDATE penstock_epochs SET epoch = 1000")
    with pytest.raises((SinkError, JobExecutionException), match=r"holds epoch 1\.1000 .* older copy"):
        start_table_job(directory, table, postgres.options(), LOCAL).wait(SECONDS)
    postgres.execute("DELETE FROM penstock_epochs")


def test_a_server_that_stays_away_ends_the_job_with_an_error(postgres: Postgres, directory: Path) -> None:
    connection = postgres.options(connection_check_timeout=1)
    table = postgres.create_table(COLUMNS)
    postgres.stop()
    try:
        with pytest.raises((SinkError, JobExecutionException), match="refused") as raised:
            start_table_job(directory, table, connection, LOCAL).wait(SECONDS)
    finally:
        postgres.start()
    assert f"postgresql://127.0.0.1:{postgres.port}/postgres" in str(raised.value)
