"""`CheckpointingMode`, where PyFlink has it."""

from __future__ import annotations

from penstock.common.checkpointing import CheckpointingMode

__all__ = ["CheckpointingMode"]
