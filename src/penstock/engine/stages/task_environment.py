"""What every task of a job shares in one process: where state lives, locally and durably."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from penstock.common.errors import ConfigurationError
from penstock.state.background_snapshots import BackgroundSnapshots, InlineSnapshots, Snapshots
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore


@dataclass(frozen=True)
class TaskEnvironment:
    """Small and picklable: it travels with every stage function."""

    job_id: str
    storage: CheckpointStorage
    backend: str
    """"memory" or "lmdb"."""
    local_directory: str
    gather_memory: int
    """Bytes that a task holds back in memory before it spills."""
    watermark_interval: int = 200
    """How often, in ms, generators of watermarks are asked when no records come; 0: never."""
    log_level: str = "info"
    log_format: str = "text"

    def open_store(self, incarnation: int, stage: int, subtask: int) -> StateStore:
        """The local store of a subtask: a cache of its durable state."""
        if self.backend == "memory":
            return MemoryStore()
        if self.backend == "lmdb":
            return LmdbStore(self._directory(incarnation, stage, subtask))
        raise ConfigurationError(f"state.backend is {self.backend!r}; expected 'lmdb' or 'memory'")

    def open_snapshots(self, incarnation: int, stage: int, subtask: int) -> Snapshots:
        """How snapshots of a subtask's state are made."""
        if self.backend == "memory":
            return InlineSnapshots()
        return BackgroundSnapshots(self._directory(incarnation, stage, subtask))

    def remove_local_state(self) -> None:
        """Removes this machine's copies of the job's state; what is durable stays."""
        shutil.rmtree(self._local_state, ignore_errors=True)

    def _directory(self, incarnation: int, stage: int, subtask: int) -> Path:
        return self._local_state / f"{incarnation}-{stage}-{subtask}"

    @property
    def _local_state(self) -> Path:
        return Path(os.path.expandvars(self.local_directory)) / self.job_id
