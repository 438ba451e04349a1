"""Those who want to know of every job that this process starts: the `penstock` command, for one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from penstock.common.configuration import Configuration
from penstock.plan.plan import Plan

if TYPE_CHECKING:
    from penstock.execution.job_client import JobClient


class JobWatcher(Protocol):
    """Is told of jobs."""

    def planned(self, plan: Plan, configuration: Configuration) -> None:
        """A job is about to start with these options; the plan is optimized. What this raises stops it."""
        ...

    def started(self, client: JobClient) -> None:
        """A job has started."""
        ...


_watchers: list[JobWatcher] = []


@contextmanager
def watching(watcher: JobWatcher) -> Generator[None]:
    """Tells the watcher of all jobs that start meanwhile, whatever thread starts them."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def job_watchers() -> tuple[JobWatcher, ...]:
    """Those to be told."""
    return tuple(_watchers)
