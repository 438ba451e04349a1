"""How the driver loop works on one job."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.connectors.source import EpochBudget

_UNLIMITED = 1 << 60


@dataclass(frozen=True)
class EpochSettings:
    """How epochs are cut and kept."""

    budget: EpochBudget
    bounded: bool
    retained: int = 10
    minimum_spacing_ms: int = 0
    minimum_pause_ms: int = 0
    watermark_interval: int = 200
    """How often, in ms, generators of watermarks are asked when no records come; 0: never."""
    attempts: int = 3
    """How often in a row an epoch that the engine lost is run again."""
    standby_timeout_ms: int | None = None
    """After how long without a sign of life this driver takes over from another; None: it does so at once."""
    presence_interval_ms: int | None = None
    """How often this driver gives signs of life; None: never."""
    target_latency_ms: int | None = None
    """How long a record may take from its source to its results; None: epochs are as large as the budget allows."""

    @property
    def budget_of_an_epoch(self) -> EpochBudget:
        """Batch execution is one epoch, which reads everything."""
        return replace(self.budget, max_records=_UNLIMITED, max_bytes=_UNLIMITED) if self.bounded else self.budget
