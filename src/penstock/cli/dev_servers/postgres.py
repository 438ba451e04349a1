"""A PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from penstock.cli.dev_servers.downloads import postgres_home
from penstock.cli.dev_servers.server import START_SECONDS, Server, ServerError

USER = "penstock"
PASSWORD = "penstock"  # noqa: S105  on loopback, for data of no value
DATABASE = "postgres"
_NOBODY = "nobody"


class PostgresServer(Server):
    """A server with one user, for this machine alone.

    PostgreSQL refuses to be run by root. For root it runs as `nobody`, with its data in a directory of the system's
    temporary files, because `nobody` can seldom get at the directories of root.
    """

    name = "PostgreSQL"
    stop_signal = signal.SIGINT
    """The fast shutdown: clients are disconnected, transactions rolled back."""

    def __init__(self, directory: Path, *, settings: dict[str, str] | None = None, fetch: bool = True) -> None:
        super().__init__(directory, ports=1)
        self._settings = settings or {}
        self._fetch = fetch
        self._elsewhere: Path | None = None
        if os.geteuid() == 0:
            self.user = _NOBODY
            digest = blake2b(str(self.directory).encode(), digest_size=8).hexdigest()
            temporary = next(filter(_everybody_gets_to, map(Path, (tempfile.gettempdir(), "/tmp"))))  # noqa: S108
            self._elsewhere = temporary / f"penstock-postgres-{digest}"

    @property
    def data(self) -> Path:
        """Where the database is."""
        return (self._elsewhere or self.directory) / "data"

    @property
    def port(self) -> int:
        """The port on loopback."""
        return self.ports[0]

    @property
    def address(self) -> str:
        """The JDBC URL, without user and password."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{DATABASE}"

    def command(self) -> Sequence[str]:
        """The server on its data."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            # A setting of ours, of no effect: a later command knows the process by it.
            "penstock.directory": str(self.directory),
            **self._settings,
        }
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        return [str(self._program("postgres")), "-D", str(self.data), *arguments]

    def prepare(self) -> None:
        """Makes the database before the first start."""
        if (self.data / "PG_VERSION").exists():
            return
        postgres_home(fetch=self._fetch)
        if self._elsewhere is not None:
            self._elsewhere.mkdir(mode=0o700, exist_ok=True)
            shutil.chown(self._elsewhere, _NOBODY)
        password = (self._elsewhere or self.directory) / "password"
        password.write_text(PASSWORD)
        with suppress(PermissionError):
            password.chmod(0o644)
        done = subprocess.run(  # noqa: S603  a program that was downloaded for this
            [
                str(self._program("initdb")),
                f"--pgdata={self.data}",
                f"--username={USER}",
                f"--pwfile={password}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ],
            capture_output=True,
            text=True,
            check=False,
            user=self.user,
            cwd=None if self.user is None else "/",
        )
        password.unlink()
        if done.returncode:
            raise ServerError(f"PostgreSQL could not make its database:\n{done.stdout}{done.stderr}")

    def answers(self) -> bool:
        """The server says so itself, in the last line of its file."""
        with suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            pid = None if self._process is None else self._process.pid
            return len(lines) >= 8 and lines[7].strip() == "ready" and (pid is None or int(lines[0]) == pid)
        return False

    def start(self, *, outlive: bool = False) -> None:
        """Starts the server; after a kill, as soon as the processes of the one before have noticed it."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            written = self.log.stat().st_size if self.log.exists() else 0
            try:
                super().start(outlive=outlive)
                return
            except ServerError:
                said = self.log.read_bytes()[written:] if self.log.exists() else b""
                if b"pre-existing shared memory block" not in said or time.monotonic() > deadline:
                    raise
                self._process = None
                time.sleep(0.1)

    def delete(self) -> None:
        """Stops the server and removes its data."""
        super().delete()
        if self._elsewhere is not None:
            shutil.rmtree(self._elsewhere, ignore_errors=True)

    def _program(self, name: str) -> Path:
        home = postgres_home(fetch=self._fetch)
        program = home / "bin" / name
        if self._elsewhere is None:
            return program
        if _everybody_gets_to(program):
            return program
        # The downloads are in a directory that only root can get at.
        copy = self._elsewhere / "programs"
        if not copy.exists():
            shutil.copytree(home, copy, symlinks=True)
        return copy / "bin" / name


def _everybody_gets_to(path: Path) -> bool:
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents))
