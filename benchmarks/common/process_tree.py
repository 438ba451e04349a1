"""What a program and all processes below it use: CPU time and memory (Linux; elsewhere they read 0)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

SAMPLE_SECONDS = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")
_USER_TIME, _SYSTEM_TIME, _START_TIME = 11, 12, 19
"""Places in /proc/PID/stat behind the name."""


def children(process: int) -> list[int]:
    """The processes that a process has started; none where it is gone."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants(root: int) -> list[int]:
    """All processes below a process."""
    found = children(root)
    for process in found:
        found += children(process)
    return found


def cpu_seconds(process: int) -> float:
    """What a process itself, without those below it, has used so far."""
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[_USER_TIME]) + int(stat[_SYSTEM_TIME])) / _TICKS


def memory_fields(process: int) -> dict[str, str]:
    """What /proc/PID/status says; nothing where the process is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in status.splitlines())}


def kilobytes(fields: dict[str, str], name: str) -> int:
    """One of the sizes in there."""
    return int(fields.get(name, "0 kB").split()[0])


class TreeWatch:
    """Samples CPU time and memory of a process and all below it while the block runs."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._ticks: dict[tuple[int, str], int] = {}
        self.peak_mb = 0.0
        """The most resident memory at one time, without mapped files: those are the system's cache."""

    def __enter__(self) -> TreeWatch:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all processes as they were last seen."""
        return sum(self._ticks.values()) / _TICKS

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            memory = 0
            for process in (self._root, *descendants(self._root)):
                try:
                    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                self._ticks[process, stat[_START_TIME]] = int(stat[_USER_TIME]) + int(stat[_SYSTEM_TIME])
                fields = memory_fields(process)
                memory += kilobytes(fields, "RssAnon") + kilobytes(fields, "RssShmem")
            self.peak_mb = max(self.peak_mb, memory / 1024)
