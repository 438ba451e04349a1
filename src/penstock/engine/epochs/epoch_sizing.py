"""How much an epoch reads: as much as keeps the job within its target latency, or lets it catch up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.connectors.source import EpochBudget
from penstock.engine.epochs.epoch_cost import EpochCost

_FEWEST_RECORDS = 1_000
_FEWEST_BYTES = 1 << 20
_STEP = 2.0
"""The most by which an epoch is larger or smaller than the last."""
_TOLERANCE = 0.2
"""Sizes that are so near to the right one are left as they are."""
_HEADROOM = 1.25
"""By how much a job that keeps up is to be faster than its input, where it can."""
_CATCH_UP = 4.0
"""While a job catches up, records take so many times the time that an epoch takes without any: 80 % of top speed."""
_IMPATIENCE = 0.25
"""By how much that rises with every epoch after which the job is still behind."""
_FORGIVENESS = 1.1 * _HEADROOM
"""How many times the records of an epoch that has left nothing its limits are taken to allow, at least."""
_MEMORY = 0.7


@dataclass(frozen=True)
class EpochOutcome:
    """What came of an epoch."""

    records: int
    took_ms: float
    """From when its input was chosen until it was committed."""
    since_last_ms: float
    """From the beginning of the epoch before it to its own."""
    is_behind: bool
    """Whether more was there to read than the epoch was allowed to."""


class EpochSizing:
    """Finds the size of epochs for a target latency.

    A record waits for the epoch under way and then for its own; so an epoch is to take half of the target. While the
    job keeps up, epochs are no larger than what can be done in that time, unless the job would fall behind with
    them. When it has fallen behind they grow, within the fixed limits, until most of their time goes into records.

    It is a matter of the driver that runs: what an epoch has read is in its manifest, whatever its limit was.
    """

    def __init__(self, limits: EpochBudget, target_ms: int) -> None:
        self._limits = limits
        self._target_ms = target_ms
        self._least = min(1.0, max(_FEWEST_RECORDS / limits.max_records, _FEWEST_BYTES / limits.max_bytes))
        self._share = self._least
        self._records_of_limits = float(limits.max_records)
        """How many records an epoch has that reads all that the limits allow: fewer, where records have many bytes."""
        self._cost = EpochCost()
        self._arriving_per_ms = 0.0
        self._epochs_behind = 0

    @property
    def share(self) -> float:
        """The part of the fixed limits that the next epoch may read."""
        return self._share

    @property
    def budget(self) -> EpochBudget:
        """What the next epoch may read."""
        return replace(
            self._limits,
            max_records=max(1, round(self._limits.max_records * self._share)),
            max_bytes=max(1, round(self._limits.max_bytes * self._share)),
        )

    @property
    def spacing_ms(self) -> float:
        """How long after the beginning of an epoch the next one is to begin, where the job keeps up.

        A record that has just missed an epoch waits so long, and then for its own: together that is the target. No
        more is gathered than one epoch may read.
        """
        arriving = self._arriving_per_ms
        spacing = (self._target_ms - self._cost.per_epoch_ms) / (1 + self._cost.per_record_ms * arriving)
        if arriving > 0:
            spacing = min(spacing, self._records_of_limits / (_HEADROOM * arriving))
        return max(0.0, spacing)

    def finished(self, outcome: EpochOutcome) -> None:
        """Takes note of an epoch."""
        if outcome.records == 0:
            return
        self._cost.learn(outcome.records, outcome.took_ms)
        self._epochs_behind = self._epochs_behind + 1 if outcome.is_behind else 0
        if outcome.is_behind:
            self._records_of_limits = min(float(self._limits.max_records), outcome.records / self._share)
        else:
            # Limits that were reached with few records (large ones; the first of a source) may be far again, and an
            # epoch that has read all that there was does not tell how far. While they are what ends epochs, try more.
            read = _FORGIVENESS * outcome.records / self._share
            self._records_of_limits = min(float(self._limits.max_records), max(self._records_of_limits, read))
        if not outcome.is_behind and outcome.since_last_ms > 0:
            rate = outcome.records / outcome.since_last_ms
            before = self._arriving_per_ms or rate
            self._arriving_per_ms = _MEMORY * before + (1 - _MEMORY) * rate
        self._approach(self._right_size() / self._records_of_limits)

    def _right_size(self) -> float:
        """How many records the next epoch should read at most."""
        per_epoch, per_record = self._cost.per_epoch_ms, max(self._cost.per_record_ms, 1e-9)
        within_goal = (self._target_ms / 2 - per_epoch) / per_record
        # With epochs of n records a job reads n / (per_epoch + n * per_record) in a ms: that must be more than arrives.
        wanted = self._arriving_per_ms * self._headroom()
        idle = 1 - wanted * per_record
        enough = wanted * per_epoch / idle if idle > 0 else self._records_of_limits
        if self._epochs_behind:
            fast = (_CATCH_UP + _IMPATIENCE * self._epochs_behind) * per_epoch / per_record
            return max(within_goal, enough, fast)
        return max(within_goal, enough, wanted * self.spacing_ms)

    def _headroom(self) -> float:
        """By how much the job is to be faster than its input: no more than half of what it can be at the most."""
        top_speed = 1 / max(self._cost.per_record_ms * self._arriving_per_ms, 1e-9)
        return min(_HEADROOM, max(1.0, (1 + top_speed) / 2))

    def _approach(self, share: float) -> None:
        share = min(1.0, max(self._least, share))
        if abs(share - self._share) > _TOLERANCE * self._share:
            self._share = min(max(share, self._share / _STEP), self._share * _STEP)
