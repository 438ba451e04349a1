"""When the driver has nothing to do, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from penstock.engine.epochs.epoch_settings import EpochSettings
from penstock.engine.epochs.manifest_log import ManifestLog

_MAX_WAIT_MS = 1000


class DriverPauses:
    """Pauses between epochs; whoever cancels the job ends them, or asks for a savepoint of the next epoch."""

    def __init__(
        self,
        cancelled: threading.Event,
        wait: Callable[[threading.Event, float], bool],
        log: ManifestLog,
        settings: EpochSettings,
    ) -> None:
        self._cancelled = cancelled
        self._wait = wait
        self._log = log
        self._settings = settings
        self._next_look = 0
        self._hastened = threading.Event()

    def hasten(self) -> None:
        """Ends the pause before the next epoch: somebody waits for it, and has said before what for."""
        self._hastened.set()

    def epoch_begins(self) -> None:
        """Whoever has hastened it is heard in it; the next pause is one again."""
        self._hastened.clear()

    def before_restart(self, seconds: float) -> None:
        """Waits for so long: what has failed is not made better by being hastened."""
        self._wait(self._cancelled, seconds)

    def wait(self, seconds: float) -> None:
        """Waits for so long before the next epoch."""
        if not self._cancelled.is_set():
            self._wait(self._hastened, seconds)

    def until_due(self, now: int, next_poll: int | None, next_timer: int | None) -> None:
        """Waits until sources are to be asked, or a timer is due. Raises `FencedError`.

        A driver that writes hears at once of another one that has taken over; one without records would never do.
        """
        if now >= self._next_look:
            self._next_look = now + _MAX_WAIT_MS
            self._log.check_writer()
        due = min(time for time in (next_poll, next_timer, now + _MAX_WAIT_MS) if time is not None)
        self.wait(max(due - now, 1) / 1000)

    def keep_spacing(self, started: float) -> None:
        """Waits for the time that the program wants between two epochs; the last one began at `started`."""
        left = self._settings.minimum_spacing_ms / 1000 - (time.perf_counter() - started)
        left = max(left, self._settings.minimum_pause_ms / 1000)
        if left > 0:
            self.wait(left)
