"""`penstock dev`: servers that outlive the command that has started them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import services.downloaded  # noqa: F401  says where the servers are
from penstock.cli.dev_servers import KafkaServer, PostgresServer, Server, ServerError
from penstock.common.errors import EnvironmentNotReadyError
from unit.cli.cli_programs import Command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, penstock: Command) -> Iterator[Path]:
    monkeypatch.setenv("PENSTOCK_DEV_HOME", str(tmp_path / "dev"))
    yield tmp_path / "dev"
    penstock("dev", "down", "--delete")


@pytest.mark.postgres
def test_a_server_stays_up_until_it_is_taken_down(penstock: Command, home: Path) -> None:
    assert penstock("dev", "status").output == "kafka: not running\npostgres: not running\n"
    # In a process of its own, which is over when the server is used.
    started = subprocess.run(
        [sys.executable, "-m", "penstock.cli", "dev", "up", "postgres"],
        env={**os.environ, "PENSTOCK_DEV_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.match(r"PostgreSQL: jdbc:postgresql://127\.0\.0\.1:(\d+)/postgres, user (\w+), password (\w+) ", started)
    assert found is not None, started
    port, user, password = found.groups()
    assert penstock("dev", "up", "postgres").stdout == started, "it runs already"
    assert started in penstock("dev", "status").output

    def connect() -> psycopg.Connection:
        return psycopg.connect(host="127.0.0.1", port=port, user=user, password=password, dbname="postgres")

    with connect() as connection:
        connection.execute("CREATE TABLE kept (x int)")
    assert penstock("dev", "down").output == "PostgreSQL: stopped\n"
    with pytest.raises(psycopg.OperationalError):
        connect()
    assert penstock("dev", "down").output == "PostgreSQL: was not running\n"
    assert penstock("dev", "up", "postgres").stdout == started, "the address stays"
    with connect() as connection:
        assert connection.execute("SELECT * FROM kept").fetchall() == []
    assert penstock("dev", "down", "--delete").output == "PostgreSQL: stopped, removed\n"
    assert not (home / "postgres").exists()


class Sleeper(Server):
    """Anything that runs and never serves."""

    name = "sleeper"

    @property
    def address(self) -> str:
        return ""

    def command(self) -> list[str]:
        return ["sleep", "60", str(self.directory)]


def test_only_a_process_of_ours_is_stopped(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        (tmp_path / "server.json").write_text(f'{{"pid": {other.pid}, "ports": [1]}}')
        server = Sleeper(tmp_path, 1)
        assert not server.is_running
        server.stop()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_server_that_ends_says_why(tmp_path: Path) -> None:
    class Broken(Sleeper):
        def command(self) -> list[str]:
            return ["sh", "-c", "echo no such setting; exit 3"]

    with pytest.raises(ServerError, match=r"sleeper ended with 3:\nno such setting"):
        Broken(tmp_path, 1).start()


def test_without_downloads_the_error_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "empty"))
    for server in (KafkaServer(tmp_path / "k", fetch=False), PostgresServer(tmp_path / "p", fetch=False)):
        with pytest.raises(EnvironmentNotReadyError, match=r"are not in .*empty.* get them by `make setup-services`"):
            server.start()


def test_without_maven_the_command_fails_with_advice(
    penstock: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("PATH", "")
    result = penstock("dev", "up", "kafka")
    assert result.exit_code == 1
    assert "Maven (`mvn`) is needed to download kafka" in result.output
