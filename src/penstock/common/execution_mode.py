"""How a program is executed."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """Whether a job runs as a stream or as a batch."""

    STREAMING = 0
    """Records are processed as they come; results are updated; state survives."""
    BATCH = 1
    """All input is there at the start; only final results are emitted. All sources must be bounded."""
    AUTOMATIC = 2
    """BATCH if all sources are bounded, else STREAMING."""
