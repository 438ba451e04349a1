"""Says in the log that something took long for which others have to wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.common.logs import JobLogger

_LONG_SECONDS = 1.0
_EVERY_SECONDS = 60.0


class SlowSteps:
    """Steps of a job that are short as a rule. Where one is slow again and again, it is told once a minute."""

    def __init__(self, logger: JobLogger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self.clock = clock
        """In seconds."""
        self._told: dict[str, float] = {}

    def took(self, seconds: float, message: str, *details: object) -> None:
        """Tells of a step if it took long; `message` has a place for the seconds, and others for the details."""
        now = self.clock()
        told = self._told.get(message)
        if seconds < _LONG_SECONDS or (told is not None and now - told < _EVERY_SECONDS):
            return
        self._told[message] = now
        self._logger.warning(message, seconds, *details)
