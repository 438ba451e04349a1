"""The plan of the next epoch, made while this one runs: nothing waits for it when one ends and the next begins."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.common.logs import job_logger


class PlanAhead:
    """Keeps one plan in store. Plans are for one epoch each, and do not know which."""

    def __init__(self, make: Callable[[], Any], job_name: str) -> None:
        self._make = make
        self._plan: Any = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-plan")
        self._logger = job_logger(job_name)

    def take(self) -> Any:
        """A plan: the one in store, or a new one."""
        with self._lock:
            plan, self._plan = self._plan, None
        return self._make() if plan is None else plan

    def make_next(self, after_seconds: float) -> None:
        """Makes another one in a while: what begins now needs the cores."""
        self._thread.submit(self._fill, after_seconds)

    def close(self) -> None:
        """No more plans are needed."""
        self._closed.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _fill(self, after_seconds: float) -> None:
        if self._closed.wait(after_seconds):
            return
        with self._lock:
            if self._plan is None:
                try:
                    self._plan = self._make()
                except Exception as error:
                    # Whoever takes it makes it anew, and is told what is wrong.
                    self._logger.debug("no plan was made ahead: %s", error)
