"""A server in a process of its own: started, stopped, killed, and found again by a later command."""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from penstock.common.errors import PenstockError

START_SECONDS = 60
STOP_SECONDS = 30
_NOTE = "server.json"
_PR_SET_PDEATHSIG = 1


class ServerError(PenstockError):
    """A server cannot be started, or has died."""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    with ExitStack() as open_until_all_are_chosen:
        sockets = [open_until_all_are_chosen.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _end_with_parent() -> None:
    """Lets the kernel kill the server when the process that started it is killed and cannot."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Server(ABC):
    """A server and its data, in a directory. `kill` and `restart` keep the address and what was written."""

    name: str
    stop_signal = signal.SIGTERM
    user: str | None = None
    """Whose process it is, where it is not the caller's."""

    def __init__(self, directory: Path, ports: int) -> None:
        self.directory = directory.absolute()
        self.log = self.directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ports: list[int] = self._note().get("ports") or free_ports(ports)

    @property
    @abstractmethod
    def address(self) -> str:
        """What clients connect to."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What is run; it names the directory of the data, by which the process is known again."""

    def prepare(self) -> None:
        """Makes what must be there before the first start."""
        return

    def answers(self) -> bool:
        """Whether a server that has been started serves."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.ports[0]), 1):
            return True
        return False

    @property
    def is_running(self) -> bool:
        """Whether the process that this object, or a command before, has started is there."""
        if self._process is not None:
            return self._process.poll() is None
        return self._noted_process() is not None

    def start(self, *, outlive: bool = False) -> None:
        """Starts the server and waits until it answers; with `outlive` it stays when this process ends.

        Without, call it in a thread that lives on: to Linux, the end of the thread is that of the parent.
        """
        if self.is_running:
            return
        self.prepare()
        ends_with_us: Callable[[], None] | None = None
        if sys.platform == "linux" and not outlive:
            ends_with_us = _end_with_parent
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  programs that were downloaded for this
                self.command(),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for the caller, who stops the server in order.
                start_new_session=True,
                preexec_fn=ends_with_us,  # noqa: PLW1509  one system call
                user=self.user,
                group=None if self.user is None else pwd.getpwnam(self.user).pw_gid,
                extra_groups=None if self.user is None else [],
                cwd=None if self.user is None else "/",
            )
        (self.directory / _NOTE).write_text(json.dumps({"pid": self._process.pid, "ports": self.ports}))
        self._wait_until_it_answers(self._process)

    def stop(self) -> None:
        """Shuts the server down in order; harmless when it does not run."""
        self._end(self.stop_signal)
        if self.is_running:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL: what a crash of the machine would be, without the loss of its disk."""
        process = self._noted_process() if self._process is None else self._process.pid
        # PostgreSQL's serve the rows that they are at for some time after the process that started them is gone.
        children = () if process is None else _children(process)
        self._end(signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process = None

    def restart(self) -> None:
        """Stops the server if it runs, and starts it on the same address and data."""
        self.stop()
        self.start()

    def delete(self) -> None:
        """Stops the server and removes its data."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log_tail(self) -> str:
        """The end of what the server has written."""
        return self.log.read_bytes()[-4000:].decode(errors="replace") if self.log.exists() else ""

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
            return
        noted = self._noted_process()
        if noted is None:
            return
        with suppress(ProcessLookupError):
            os.kill(noted, how)
        deadline = time.monotonic() + STOP_SECONDS
        while self._noted_process() is not None and time.monotonic() < deadline:
            time.sleep(0.05)

    def _note(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            return json.loads((self.directory / _NOTE).read_text())
        return {}

    def _noted_process(self) -> int | None:
        """The process of an earlier command, if it is still that one: numbers of processes are used again."""
        pid = self._note().get("pid")
        return pid if isinstance(pid, int) and str(self.directory) in _command_line(pid) else None

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise ServerError(f"{self.name} ended with {process.returncode}:\n{self.log_tail()}")
            if self.answers():
                return
            time.sleep(0.05)
        self.kill()
        raise ServerError(f"{self.name} did not answer within {START_SECONDS} s:\n{self.log_tail()}")


def _children(pid: int) -> tuple[int, ...]:
    if sys.platform == "linux":
        with suppress(OSError):
            return tuple(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
        return ()
    command = ["pgrep", "-P", str(pid)]
    return tuple(map(int, subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()))  # noqa: S603


def _command_line(pid: int) -> str:
    """The command of a process; empty where there is none, or only what is left of one that has ended."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""
    command = ["ps", "-p", str(pid), "-o", "command="]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
