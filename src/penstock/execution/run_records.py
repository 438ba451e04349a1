"""What each run of a job leaves in its checkpoint directory for people: when, where, which plan, how it ended.

Nothing of the job's correctness depends on it; the manifest log alone says what has happened.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from penstock.common.errors import CheckpointError, JobExecutionException
from penstock.plan.explain import explain
from penstock.plan.json_form import to_json
from penstock.plan.plan import Plan
from penstock.state.storage import CheckpointStorage

_DIRECTORY = "runs"
_STARTED, _ENDED = ".started.json", ".ended.json"
_KEPT = 20


class RunState(Enum):
    """How a run ended, or that it has not."""

    RUNNING = "running"
    MAYBE_RUNNING = "running?"
    """It was started on another machine, and has not said that it ended."""
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"
    """Its process is gone and did not say how it ended."""


@dataclass(frozen=True)
class RunStart:
    """What is known when a run starts."""

    job_id: str
    job_name: str
    fingerprint: str
    host: str
    process: int
    process_started: str
    """Tells the process from a later one with the same number."""
    started: int
    """In ms since 1970."""
    plan: Mapping[str, Any]
    explained: str


@dataclass(frozen=True)
class RunEnd:
    """What is known when a run ends."""

    state: str
    ended: int
    error: str | None = None


@dataclass(frozen=True)
class Run:
    """One run of a job, as its records tell it."""

    start: RunStart
    end: RunEnd | None

    @property
    def state(self) -> RunState:
        """How it ended, or whether it still goes on."""
        if self.end is not None:
            return RunState(self.end.state)
        if self.start.host != socket.gethostname():
            return RunState.MAYBE_RUNNING
        lives = _process_started(self.start.process) == self.start.process_started
        return RunState.RUNNING if lives else RunState.KILLED


class RunRecord:
    """Writes the records of one run."""

    def __init__(self, storage: CheckpointStorage, job_id: str, plan: Plan) -> None:
        self._storage = storage
        form = to_json(plan)
        started = RunStart(
            job_id=job_id,
            job_name=plan.job_name,
            fingerprint=form["fingerprint"],
            host=socket.gethostname(),
            process=os.getpid(),
            process_started=_process_started(os.getpid()),
            started=_now(),
            plan=form,
            explained=explain(plan),
        )
        self._path = f"{_DIRECTORY}/{started.started:015d}-{job_id}"
        # A full disk is for the job itself to report.
        with suppress(CheckpointError):
            storage.put_if_absent(self._path + _STARTED, json.dumps(asdict(started)).encode())
            for old in storage.list(_DIRECTORY)[: -2 * _KEPT]:
                storage.delete(old)

    def ended(self, state: RunState, error: BaseException | None = None) -> None:
        """Says how the run ended; a directory that cannot be written to any more is no second failure."""
        text = None if error is None else _summary(error)
        with suppress(CheckpointError):
            end = RunEnd(state.value, _now(), text)
            self._storage.put_if_absent(self._path + _ENDED, json.dumps(asdict(end)).encode())


def read_runs(storage: CheckpointStorage) -> list[Run]:
    """The runs whose records are there, oldest first."""
    paths = set(storage.list(_DIRECTORY))
    runs: list[Run] = []
    for path in sorted(path for path in paths if path.endswith(_STARTED)):
        end = path.removesuffix(_STARTED) + _ENDED
        start = RunStart(**json.loads(storage.read(path)))
        runs.append(Run(start, RunEnd(**json.loads(storage.read(end))) if end in paths else None))
    return runs


def _summary(error: BaseException) -> str:
    if isinstance(error, JobExecutionException) and error.report is not None:
        return f"{error.report.error_type}: {error.report.message}"
    return f"{type(error).__name__}: {error}"


def _now() -> int:
    return int(time.time() * 1000)


def _process_started(process: int) -> str:
    """When a process started, in the system's own terms; empty where there is none, or it cannot be known."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except FileNotFoundError:
        return _lives(process)


def _lives(process: int) -> str:
    # Systems without /proc: that there is a process of this number is all that can be told.
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "lives"
