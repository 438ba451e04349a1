"""`ExternalizedCheckpointRetention`, where PyFlink has it."""

from __future__ import annotations

from penstock.common.checkpointing import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
