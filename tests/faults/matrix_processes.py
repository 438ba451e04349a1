"""Runs the crash matrix's job in a process of its own, and kills that or what it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from penstock.common.fail_points import ENVIRONMENT_VARIABLE
from penstock.engine.spark import worker_daemon
from services.modules_of_tests import python_path

SCRIPT = Path(__file__).with_name("matrix_job.py")


class MatrixProcess:
    """One start of the job."""

    def __init__(
        self,
        source: Path,
        directory: Path,
        options: Mapping[str, str],
        *,
        fail_points: str = "",
        services: str | None = None,
        clock: Path | None = None,
    ) -> None:
        command = [sys.executable, str(SCRIPT), str(source), str(directory)]
        for key, value in options.items():
            command += ["--option", f"{key}={value}"]
        if services is not None:
            command += ["--services", services]
        if clock is not None:
            command += ["--clock", str(clock)]
        self.log = directory.parent / f"{directory.name}.log"
        """What this start and those before have said."""
        self._errors = self.log.open("ab")
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": python_path(), ENVIRONMENT_VARIABLE: fail_points},
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float) -> int | None:
        """The exit code; None where the process still runs after so long."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def is_paused(self, mark: Path, seconds: float) -> bool:
        """Waits until the driver has stopped itself at the fail point that makes `mark`; False where it does not."""
        deadline = time.monotonic() + seconds
        while self.is_running and time.monotonic() < deadline:
            if mark.exists() and _state_of(Path(f"/proc/{self._process.pid}")) == "T":
                return True
            time.sleep(0.02)
        return False

    def go_on(self) -> None:
        """Ends the pause."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to the driver alone: its JVM and its workers find out by themselves."""
        self._process.kill()

    def members(self, kind: str) -> list[int]:
        """The processes of the job of one kind: `worker`, `jvm` or `executor`."""
        return sorted(int(entry.name) for entry in self._entries() if _kind_of(entry) == kind)

    def _entries(self) -> list[Path]:
        # Not the group: Spark's Python daemon makes one of its own.
        entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [entry for entry in entries if _session_of(entry) == self._process.pid]

    def end(self) -> None:
        """Ends all that is left of it."""
        for entry in self._entries():
            kill_process(int(entry.name))
        self._process.wait()
        self._errors.close()


def kill_process(process: int) -> bool:
    """SIGKILL; False where it has ended by itself."""
    return signal_processes([process], signal.SIGKILL) == 1


def signal_processes(processes: Sequence[int], how: signal.Signals) -> int:
    """To how many of them the signal has gone: those that have not ended by themselves."""
    reached = 0
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, how)
            reached += 1
    return reached


def _status_of(entry: Path) -> list[str]:
    """State, parent, group and session; empty where the process has ended."""
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _state_of(entry: Path) -> str:
    return next(iter(_status_of(entry)), "")


def _session_of(entry: Path) -> int:
    status = _status_of(entry)
    return int(status[3]) if status else -1


def with_children(process: int) -> list[int]:
    """The process and what it has started."""
    entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [process, *(int(entry.name) for entry in entries if _status_of(entry)[1:2] == [str(process)])]


def _kind_of(entry: Path) -> str:
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    text = b" ".join(words)
    if _is_daemon(text):
        # The daemon itself has the JVM as its parent; workers are its children, under the same command.
        return "worker" if _parent_is_daemon(entry) else "daemon"
    if b"CoarseGrainedExecutorBackend" in text:
        return "executor"
    return "jvm" if words and words[0].endswith(b"java") else ""


def _is_daemon(command: bytes) -> bool:
    """Spark's own, or the one that workers on the driver's machine come from."""
    return any(module.encode() in command for module in ("pyspark.daemon", worker_daemon.__name__))


def _parent_is_daemon(entry: Path) -> bool:
    try:
        return any(_is_daemon(Path("/proc", each, "cmdline").read_bytes()) for each in _status_of(entry)[1:2])
    except OSError:
        return False
