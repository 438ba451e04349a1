"""`penstock dev`: a Kafka broker and a PostgreSQL server on this machine, for trying things out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from penstock.cli.dev_servers import KafkaServer, PostgresServer, Server
from penstock.cli.dev_servers.downloads import kafka_jars, postgres_home
from penstock.cli.dev_servers.postgres import PASSWORD, USER
from penstock.cli.program import FAILED
from penstock.common.errors import PenstockError

HOME_VARIABLE = "PENSTOCK_DEV_HOME"
_SERVERS: dict[str, Callable[[Path], Server]] = {"kafka": KafkaServer, "postgres": PostgresServer}

_which = click.argument("servers", nargs=-1, type=click.Choice(sorted(_SERVERS)))


@click.group()
def dev() -> None:
    """Start and stop a Kafka broker and a PostgreSQL server on this machine, for trying things out.

    They listen on loopback only, keep their data in $PENSTOCK_DEV_HOME (~/.penstock/dev) and are downloaded, by
    Maven, when they are started for the first time.
    """


@dev.command()
@_which
def up(servers: tuple[str, ...]) -> None:
    """Start SERVERS (kafka, postgres; both without an argument) and print their addresses."""
    try:
        for name in servers or sorted(_SERVERS):
            if not _cached(name):
                click.echo(f"downloading {name} ...", err=True)
            server = _SERVERS[name](_home() / name)
            server.start(outlive=True)
            click.echo(_described(server))
    except PenstockError as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)


@dev.command()
@_which
@click.option("--delete", is_flag=True, help="Remove their data too.")
def down(servers: tuple[str, ...], delete: bool) -> None:
    """Stop SERVERS that `penstock dev up` has started (both without an argument); their data stays."""
    for name in servers or sorted(_SERVERS):
        directory = _home() / name
        if not directory.exists():
            continue
        server = _SERVERS[name](directory)
        was_running = server.is_running
        server.stop()
        if delete:
            server.delete()
        click.echo(f"{server.name}: {'stopped' if was_running else 'was not running'}{', removed' if delete else ''}")


@dev.command()
def status() -> None:
    """Print which servers run, and their addresses."""
    for name in sorted(_SERVERS):
        directory = _home() / name
        server = _SERVERS[name](directory) if directory.exists() else None
        click.echo(f"{name}: not running" if server is None or not server.is_running else _described(server))


@dev.command()
def download() -> None:
    """Download the servers, so that a later `up` needs no network."""
    try:
        click.echo(f"kafka: {kafka_jars().parent}")
        click.echo(f"postgres: {postgres_home()}")
    except PenstockError as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)


def _home() -> Path:
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / ".penstock" / "dev")


def _cached(name: str) -> bool:
    try:
        (kafka_jars if name == "kafka" else postgres_home)(fetch=False)
    except PenstockError:
        return False
    return True


def _described(server: Server) -> str:
    login = f", user {USER}, password {PASSWORD}" if isinstance(server, PostgresServer) else ""
    return f"{server.name}: {server.address}{login} (log: {server.log})"
