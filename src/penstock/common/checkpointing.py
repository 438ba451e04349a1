"""What a program can say of its checkpoints."""

from __future__ import annotations

from enum import Enum


class CheckpointingMode(Enum):
    """Whether records may count twice in the state after a failure. Here they never do."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


class ExternalizedCheckpointRetention(Enum):
    """Whether checkpoints stay after the end of a job."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
