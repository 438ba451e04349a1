"""Schedules of faults on the local engine, with virtual time: what breaks, at which step, in which start of the job."""

from __future__ import annotations

import errno
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from faults.matrix_job import start_matrix_job
from penstock.common import fail_points
from penstock.common.errors import JobExecutionException
from penstock.common.fail_points import SimulatedCrash
from penstock.engine.epochs.stage_executor import ExecutionFailedError
from penstock.engine.local.executor import LocalStageExecutor
from penstock.state.storage import LocalCheckpointStorage
from penstock.testing import VirtualClock

OPTIONS = {
    "execution.engine": "local",
    "execution.epoch.max-records": "16",
    "state.retained-checkpoints": "3",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "10 s",
}
SECONDS = 60
DAY_MS = 86_400_000

KINDS = {
    "crash": "the driver dies at a step of the protocol",
    "torn": "the driver dies in the middle of writing a file",
    "full": "the disk of the checkpoint is full for a while",
    "lost": "the engine loses an epoch after its work",
    "unreachable": "the engine loses an epoch before its work",
    "program": "the program's own code fails",
    "connection": "a connection breaks while an epoch is published",
    "clock forward": "the clock jumps a day ahead",
    "clock back": "the clock jumps a day back",
    "new machine": "local state is gone when the job starts again",
}


@dataclass(frozen=True)
class Fault:
    """Something breaks when it is used for the n-th time in one start of the job."""

    kind: str
    step: int

    def __repr__(self) -> str:
        return f"{self.kind}@{self.step}"


Schedule = Sequence[Sequence[Fault]]
"""The faults of each start of the job; the start after the last has none."""


class JumpingClock(VirtualClock):
    """A virtual clock that somebody sets."""

    def jump(self, millis: int) -> None:
        self._now = max(0, self._now + millis)


class _Injector:
    """Breaks things in one start of the job."""

    def __init__(self, faults: Sequence[Fault], clock: JumpingClock) -> None:
        self._due = Counter((fault.kind, fault.step) for fault in faults)
        self._clock = clock
        self._uses: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._dead = False
        self.happened: Counter[str] = Counter()

    def reach(self, name: str) -> None:
        """A step of the protocol, in whatever thread."""
        self._unless_dead(name)
        if self._strikes("clock forward"):
            self._clock.jump(DAY_MS)
        if self._strikes("clock back"):
            self._clock.jump(-DAY_MS)
        if self._strikes("crash"):
            self._die(name)
        if name.startswith("program.") and self._strikes("program"):
            raise ValueError("the service does not answer")
        if name == "ledger.inserted" and self._strikes("connection"):
            raise ConnectionResetError("connection reset by peer")

    def run(self, executor: LocalStageExecutor, header: Any, tasks: Any) -> Any:
        """An epoch in the engine."""
        if self._strikes("unreachable"):
            raise ExecutionFailedError("an executor was lost")
        results = _run_epoch(executor, header, tasks)
        if self._strikes("lost"):
            raise ExecutionFailedError("an executor was lost")
        return results

    @contextmanager
    def temporary(self, storage: LocalCheckpointStorage, directory: Path, content: bytes) -> Generator[Path]:
        """A write to the checkpoint."""
        is_of_protocol = directory.name != "runs"
        if self._dead and not is_of_protocol:
            # The job's thread lives on and wants to say how it ended; a dead process says nothing.
            raise OSError(errno.EIO, "dead")
        self._unless_dead("write")
        if is_of_protocol and self._strikes("full"):
            raise OSError(errno.ENOSPC, "no space left on device")
        if is_of_protocol and self._strikes("torn"):
            directory.mkdir(parents=True, exist_ok=True)
            (directory / f".tmp-torn-{self._uses['torn']}").write_bytes(content[: len(content) // 2])
            self._die("write")
        with _write(storage, directory, content) as path:
            yield path

    def _strikes(self, kind: str) -> bool:
        with self._lock:
            self._uses[kind] += 1
            strikes = (kind, self._uses[kind]) in self._due
            self.happened[kind] += strikes
        return strikes

    def _die(self, name: str) -> None:
        self._dead = True
        raise SimulatedCrash(name)

    def _unless_dead(self, name: str) -> None:
        if self._dead:
            raise SimulatedCrash(name)


_run_epoch = LocalStageExecutor.run
_write = LocalCheckpointStorage._temporary


def run_schedule(source: Path, directory: Path, schedule: Schedule, *, backend: str = "memory") -> Counter[str]:
    """Starts the job again and again until it ends; returns what has really happened."""
    happened: Counter[str] = Counter()
    clock = JumpingClock(start=DAY_MS * 10)
    options = {**OPTIONS, "state.backend": backend, "state.local-dir": str(directory / "local")}
    for faults in (*schedule, ()):
        if any(fault.kind == "new machine" for fault in faults):
            happened["new machine"] += (directory / "local").exists()
            shutil.rmtree(directory / "local", ignore_errors=True)
        injector = _Injector(faults, clock)
        with _armed(injector):
            try:
                start_matrix_job(source, directory, options, clock=clock).wait(SECONDS)
                ended = True
            except SimulatedCrash:
                ended = False
            except JobExecutionException as failure:
                # Before the job has begun, a full disk is told at once; later it is waited for.
                if "is full" not in str(failure):
                    raise
                ended = False
        happened += injector.happened
        if ended:
            break
    return happened


@contextmanager
def _armed(injector: _Injector) -> Iterator[None]:
    fail_points.arm(injector.reach)
    with (
        patch.object(LocalStageExecutor, "run", _as_method(injector.run)),
        patch.object(LocalCheckpointStorage, "_temporary", _as_method(injector.temporary)),
    ):
        try:
            yield
        finally:
            fail_points.arm(None)


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is given the object it is called on, although it is a method itself."""

    def call(target: Any, *arguments: Any) -> Any:
        return function(target, *arguments)

    return call
