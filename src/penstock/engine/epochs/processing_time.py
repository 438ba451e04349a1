"""Processing time as a job sees it: it never goes back and never stands still, whatever is done to the clock."""

from __future__ import annotations

from collections.abc import Callable


class ProcessingTime:
    """The clock of this machine, ahead of it by what the clock was once ahead.

    A clock that is set back, or that of another machine on which the job goes on, must not stop timers and sources
    until it has caught up: time goes on from where it was, at half the pace, until the two are the same again.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._read: int | None = None
        self._ahead = 0

    def now(self, at_least: int) -> int:
        """The time in ms, not before `at_least`."""
        read = self._clock()
        if self._read is not None:
            passed = read - self._read
            # A clock that is set back looks like time that has passed backwards.
            self._ahead = self._ahead - passed if passed < 0 else max(0, self._ahead - passed // 2)
        self._read = read
        self._ahead = max(self._ahead, at_least - read)
        return read + self._ahead
