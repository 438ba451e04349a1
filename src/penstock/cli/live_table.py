"""Live counts of jobs at the bottom of a terminal; what the program prints scrolls above them."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live

from penstock.cli.job_table import JobTable
from penstock.execution.job_client import JobClient

_SECONDS_BETWEEN_UPDATES = 0.25


class LiveTable:
    """Shows all jobs that run; the counts of those that have ended stay as they were last."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._jobs: list[tuple[JobClient, JobTable]] = []
        self._thread: threading.Thread | None = None

    def add(self, client: JobClient) -> None:
        """Shows a job from now on."""
        with self._lock:
            self._jobs.append((client, JobTable(client)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._follow, name="penstock-live-table", daemon=True)
                self._thread.start()

    def finish(self) -> None:
        """Waits until the end of all jobs is shown."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _follow(self) -> None:
        plain = sys.stderr
        # Output that goes to a file must get there, not to the terminal.
        with Live(
            console=self._console,
            auto_refresh=False,
            get_renderable=self._table,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        ) as live:
            shown = sys.stderr
            _move_logs(plain, shown)
            while (running := self._running()) is not None:
                running.has_ended(within=_SECONDS_BETWEEN_UPDATES)
                live.refresh()
            _move_logs(shown, plain)

    def _table(self) -> Group:
        with self._lock:
            return Group(*(view for _, view in self._jobs))

    def _running(self) -> JobClient | None:
        """A job that runs; None, and no thread any more, when all have ended."""
        with self._lock:
            for client, _ in self._jobs:
                if not client.has_ended():
                    return client
            self._thread = None
            return None


def _move_logs(from_stream: TextIO, to_stream: TextIO) -> None:
    """Penstock's messages go the way of everything else on standard error."""
    for handler in logging.getLogger("penstock").handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is from_stream:
            handler.setStream(to_stream)
