"""Signs of life of the driver that runs a job, and the stand-by driver that watches for them.

Files `drivers/<token>-<number>`: a driver puts one every so often and removes the one before; `drivers/<token>-ended`
says that it has ended the job by itself. What they say decides when a stand-by driver tries; whether it may go on is
decided by the manifest log alone. Clocks of two machines are never compared: what counts is that something changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from penstock.common.errors import CheckpointError, StateCorruptionError
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.state.storage import CheckpointStorage

_DIRECTORY = "drivers"
_ENDED = "ended"
BEATS_PER_TIMEOUT = 4
"""How many signs of life fit into the time after which a driver counts as gone."""


class DriverPresence:
    """What one driver tells of itself while it runs a job."""

    def __init__(self, storage: CheckpointStorage, token: str, seconds: float) -> None:
        self._storage = storage
        self._token = token
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._beats = 0

    def begin(self) -> None:
        """Starts to tell, and removes what drivers before this one have left."""
        if self._thread is not None:
            return
        with suppress(CheckpointError):
            for path in self._storage.list(_DIRECTORY):
                if not path.startswith(f"{_DIRECTORY}/{self._token}-"):
                    self._storage.delete(path)
        self._thread = threading.Thread(target=self._tell, name="penstock-presence", daemon=True)
        self._thread.start()

    def end(self, *, by_itself: bool) -> None:
        """Stops to tell. `by_itself`: the job is over, and not to be taken over by anyone."""
        self._stopped.set()
        if self._thread is None:
            return
        self._thread.join()
        with suppress(CheckpointError):
            if by_itself:
                self._storage.put_if_absent(_path(self._token, _ENDED), b"")
                self._storage.delete(_path(self._token, self._beats))

    def _tell(self) -> None:
        while not self._stopped.wait(self._seconds):
            # A directory that is away for a while is for the job itself to report.
            with suppress(CheckpointError, StateCorruptionError):
                self._storage.put_if_absent(_path(self._token, self._beats + 1), b"")
                self._beats += 1
                self._storage.delete(_path(self._token, self._beats - 1))


class Turn(Enum):
    """What a stand-by driver finds out."""

    MINE = "the driver is gone, or there is none yet"
    ENDED = "the driver has ended the job"
    CANCELLED = "this driver need not wait any longer"


class StandBy:
    """Waits until the driver of a job is gone."""

    def __init__(
        self,
        storage: CheckpointStorage,
        log: ManifestLog,
        timeout_seconds: float,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._storage = storage
        self._log = log
        self._pause = timeout_seconds / BEATS_PER_TIMEOUT
        self._wait = wait

    def wait_for_turn(self, cancelled: threading.Event) -> tuple[Turn, int | None]:
        """What has happened, and the number of the newest manifest then; None where there is no manifest."""
        seen: object = None
        silent = 0
        while True:
            numbers = self._log.numbers()
            if not numbers:
                return Turn.MINE, None
            beats = self._storage.list(_DIRECTORY)
            if _path(self._log.read(numbers[-1]).manifest.token, _ENDED) in beats:
                return Turn.ENDED, numbers[-1]
            silent = silent + 1 if (numbers[-1], beats) == seen else 0
            seen = (numbers[-1], beats)
            if silent >= BEATS_PER_TIMEOUT:
                return Turn.MINE, numbers[-1]
            if self._wait(cancelled, self._pause):
                return Turn.CANCELLED, numbers[-1]


def _path(token: str, what: int | str) -> str:
    return f"{_DIRECTORY}/{token}-{what}"
