"""Runs the crash matrix's job in a process of its own, and kills that or what it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from penstock.common.fail_points import ENVIRONMENT_VARIABLE

TESTS = Path(__file__).resolve().parents[1]
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
    ) -> None:
        command = [sys.executable, str(SCRIPT), str(source), str(directory)]
        for key, value in options.items():
            command += ["--option", f"{key}={value}"]
        if services is not None:
            command += ["--services", services]
        path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
        self._errors = (directory.parent / f"{directory.name}.log").open("ab")
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": path, ENVIRONMENT_VARIABLE: fail_points},
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
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _session_of(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return -1


def _kind_of(entry: Path) -> str:
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    text = b" ".join(words)
    if b"pyspark.daemon" in text:
        # The daemon itself has the JVM as its parent; workers are its children, under the same command.
        return "worker" if _parent_is_daemon(entry) else "daemon"
    if b"CoarseGrainedExecutorBackend" in text:
        return "executor"
    return "jvm" if words and words[0].endswith(b"java") else ""


def _parent_is_daemon(entry: Path) -> bool:
    try:
        parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        return b"pyspark.daemon" in Path("/proc", parent, "cmdline").read_bytes()
    except OSError:
        return False
