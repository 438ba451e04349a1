"""How large epochs are and when they begin."""

from __future__ import annotations

from penstock.connectors.source import EpochBudget
from penstock.engine.epochs.epoch_sizing import EpochOutcome, EpochSizing


class EpochPace:
    """With a target latency epochs follow it; without one they have the fixed budget, and follow each other at once."""

    def __init__(self, limits: EpochBudget, target_ms: int | None) -> None:
        self._limits = limits
        self._sizing = None if target_ms is None else EpochSizing(limits, target_ms)
        self._began: int | None = None

    @property
    def budget(self) -> EpochBudget:
        """What the next epoch may read."""
        return self._limits if self._sizing is None else self._sizing.budget

    def epoch_ended(self, began: int, now: int, records: int, *, is_behind: bool) -> None:
        """Takes note of an epoch, by the times of the job's clock."""
        since_last = 0 if self._began is None else began - self._began
        self._began = began
        if self._sizing is not None:
            self._sizing.finished(EpochOutcome(records, max(now - began, 0), max(since_last, 0), is_behind))

    def wait_ms(self, now: int) -> float:
        """How long to wait for records before the next epoch, where the job keeps up."""
        if self._sizing is None or self._began is None:
            return 0.0
        return self._sizing.spacing_ms - (now - self._began)
