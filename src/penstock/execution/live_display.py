"""Jobs in a notebook: counts that change in place while the job runs, without holding the kernel."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from penstock.execution.progress_view import JobProgressView

if TYPE_CHECKING:
    from penstock.common.job import JobExecutionResult
    from penstock.execution.job_client import JobClient

_SECONDS_BETWEEN_UPDATES = 0.5


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def show_live(client: JobClient) -> LiveDisplay | None:
    """Shows a job in the cell that runs now and keeps it up to date until the job ends; returns at once.

    Outside a notebook the job is printed as it is now, and None returned.
    """
    if not in_notebook():
        print(repr(client))
        return None
    return LiveDisplay(client)


def wait_shown(client: JobClient) -> JobExecutionResult:
    """Waits for the end of a job; in a notebook with live counts, and an interrupted kernel stops the job."""
    display = LiveDisplay(client) if in_notebook() else None
    try:
        return client.wait()
    finally:
        if display is not None:
            display.finish()


class LiveDisplay:
    """A piece of a notebook's output that follows a job, from a thread of its own."""

    def __init__(self, client: JobClient) -> None:
        from IPython.display import display  # pyright: ignore[reportMissingImports]  # only notebooks have it

        self._client = client
        self._view = JobProgressView(client)
        self._handle: Any = display(self._bundle(), raw=True, display_id=True)
        self._thread = threading.Thread(target=self._follow, name="penstock-live-display", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Waits until the end of the job is shown."""
        self._thread.join()

    def _follow(self) -> None:
        ended = False
        while not ended:
            ended = self._client.has_ended(within=_SECONDS_BETWEEN_UPDATES)
            self._handle.update(self._bundle(), raw=True)

    def _bundle(self) -> dict[str, str]:
        return {"text/html": self._view.html(), "text/plain": repr(self._client)}
