"""How many records are taken in before those that came before them are worked through.

An epoch ends behind its last record. What waits in topics comes much faster than slow functions work: without a limit
an epoch of a second takes in what they need an hour for, never ends within its time, and is run again for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from penstock.engine.stages.task_report import TaskReport

_FIRST_POLL = 256
_MOST_POLL = 5_000
_SHORT_SECONDS = 0.1
_LONG_SECONDS = 0.5
"""A task looks whether the epoch is to end when it has worked on what it has taken from a source."""

_FIRST = 1_000
_FEWEST = 10
_LOST_SHARE = 10
_SLOW = 2.0
"""When the tasks of later stages work on rows for so many times as long as an epoch lasts, it has taken in too much."""


class PollAmount:
    """How many records a task takes from a source at once: so many that it is done with them soon.

    What it takes to work on them however few there are, as a call of a service does, is left out: with fewer records at
    once there would be more such calls, and none of them would be shorter.
    """

    def __init__(self) -> None:
        self.records = _FIRST_POLL
        self._before = (0, 0.0)
        self._fixed_seconds = 0.0

    def worked(self, records: int, seconds: float) -> None:
        """So many were taken, and worked on for so long."""
        if records == 0:
            return
        self._find_fixed(records, seconds)
        seconds -= self._fixed_seconds
        if seconds > _LONG_SECONDS:
            self.records = max(1, int(min(records, self.records) * _SHORT_SECONDS / seconds))
        elif seconds < _LONG_SECONDS / 2 and records >= self.records:
            self.records = min(2 * self.records, _MOST_POLL)

    def _find_fixed(self, records: int, seconds: float) -> None:
        """By the time that more or fewer records took."""
        records_before, seconds_before = self._before
        fewer, more = sorted([(records_before, seconds_before), (records, seconds)])
        if fewer[0] > 0 and more[0] >= 2 * fewer[0]:
            of_each = max(0.0, (more[1] - fewer[1]) / (more[0] - fewer[0]))
            self._fixed_seconds = max(0.0, fewer[1] - of_each * fewer[0])
        if records >= self.records:
            self._before = records, seconds


class EpochAmount:
    """How many records a task of stage 0 may send on in an epoch, which ends when one of them has.

    Few in the first epoch after a start, for it is not known how long functions take; twice as many each time that they
    keep up, but no more than they can do in the time of an epoch.
    """

    def __init__(self, timeout_seconds: float | None = None) -> None:
        """`timeout_seconds` is how long an epoch may take before it is lost; None: as long as it likes."""
        self.records = _FIRST
        self._timeout_seconds = math.inf if timeout_seconds is None else timeout_seconds

    def worked(self, reports: Iterable[TaskReport], seconds: float) -> None:
        """An epoch that was to last for so long has ended."""
        taken, busy = 0, 0.0
        for report in reports:
            if report.stage > 0:
                busy = max(busy, report.on_rows_ms / 1000)
            elif report.done is not None:
                taken = max(taken, sum(read.records for read in report.done.reads))
        # Half-way to where the epoch would be lost is too late, too: not all records take the same time.
        if busy > min(_SLOW * seconds, (seconds + self._timeout_seconds) / 2):
            self.records = max(_FEWEST, int(min(taken, self.records) * seconds / busy))
        elif busy <= seconds:
            self.records = max(self.records, int(taken * min(2.0, seconds / busy if busy else math.inf)))

    def lost(self) -> None:
        """An epoch was lost, maybe because it took too long."""
        self.records = max(_FEWEST, min(self.records // _LOST_SHARE, _FIRST))
