"""What a checkpoint promises."""

from __future__ import annotations

from enum import Enum


class CheckpointingMode(Enum):
    """Whether records may count twice in the state after a failure. Here they never do."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
