"""What epochs cost, learnt from those that were: a part for each epoch, and a part for each record."""

from __future__ import annotations

_MEMORY = 0.85
"""How much an epoch counts beside the one after it."""
_LEAST_SPREAD = 0.1
"""Epochs must differ in size by so much, as a part of their mean, to tell the two parts of their cost apart."""
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.99


class EpochCost:
    """A straight line through (records, ms) of recent epochs."""

    def __init__(self) -> None:
        self._weight = 0.0
        self._records = 0.0
        self._ms = 0.0
        self._squares = 0.0
        self._products = 0.0
        self._share_of_records = 0.5
        """The part of a mean epoch's time that goes with its records; a guess until epochs of several sizes were."""

    @property
    def is_known(self) -> bool:
        """Whether there was an epoch with records."""
        return self._records > 0

    def learn(self, records: int, took_ms: float) -> None:
        """Takes note of an epoch."""
        self._weight = self._weight * _MEMORY + 1
        self._records = self._records * _MEMORY + records
        self._ms = self._ms * _MEMORY + took_ms
        self._squares = self._squares * _MEMORY + records * records
        self._products = self._products * _MEMORY + records * took_ms
        mean_records, mean_ms = self._records / self._weight, self._ms / self._weight
        variance = self._squares / self._weight - mean_records**2
        if mean_ms > 0 and variance > (_LEAST_SPREAD * mean_records) ** 2:
            slope = (self._products / self._weight - mean_records * mean_ms) / variance
            share = slope * mean_records / mean_ms
            self._share_of_records = min(max(share, _LEAST_SHARE), _MOST_SHARE)

    @property
    def per_record_ms(self) -> float:
        """What one more record costs."""
        return self._share_of_records * self._ms / self._records if self._records else 0.0

    @property
    def per_epoch_ms(self) -> float:
        """What an epoch costs however little it reads."""
        return (1 - self._share_of_records) * self._ms / self._weight if self._weight else 0.0

    def of(self, records: float) -> float:
        """What an epoch of so many records takes, in ms."""
        return self.per_epoch_ms + records * self.per_record_ms
