"""What a checkpoint directory says of its job. Nothing is written, and nothing in it is executed or unpickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.cli.state_sizes import StateContents, measure
from penstock.common.errors import CheckpointError
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.execution.run_records import Run, RunState, read_runs
from penstock.state.index import read_all_heads
from penstock.state.storage import CheckpointStorage, open_storage

_MANIFESTS = "manifests"


@dataclass(frozen=True)
class SourcePositions:
    """How far a source has been read."""

    ended: bool
    state: Mapping[str, Any]
    """What its enumerator remembers, as it stored it: positions of splits, most of it."""


class Checkpoint:
    """A checkpoint directory, read."""

    def __init__(self, location: str) -> None:
        self.storage: CheckpointStorage = open_storage(location)
        self._log = ManifestLog(self.storage, token="")
        self.numbers = self._log.numbers()
        """The manifests that are there, ascending."""
        if not self.numbers:
            raise CheckpointError(
                f"there is no checkpoint in {self.storage.location}: it has no files in '{_MANIFESTS}'. "
                "`penstock jobs DIR` lists the checkpoints below a directory."
            )
        self.runs = read_runs(self.storage)

    def manifest(self, number: int | None = None) -> Manifest:
        """One manifest, the newest by default."""
        if number is None:
            newest = self._log.read_newest()
            assert newest is not None
            return newest.manifest
        if number not in self.numbers:
            raise CheckpointError(
                f"there is no epoch {number} in {self.storage.location}: epochs {self.numbers[0]} to "
                f"{self.numbers[-1]} are there"
            )
        return self._log.read(number).manifest

    def manifests(self) -> list[Manifest]:
        """All manifests, oldest first."""
        return [self.manifest(number) for number in self.numbers]

    def state_of_job(self) -> str:
        """Whether the job runs, or how it ended."""
        if self.runs:
            return self.runs[-1].state.value
        return RunState.FINISHED.value if self.manifest().final else "unknown"

    def run_of(self, manifest: Manifest) -> Run | None:
        """The newest run of the plan that the manifest belongs to."""
        fitting = [run for run in self.runs if run.start.fingerprint == manifest.fingerprint]
        return fitting[-1] if fitting else None

    def sources(self, manifest: Manifest) -> dict[str, SourcePositions]:
        """The positions of all sources by uid."""
        state = DriverState(self.storage, manifest.driver_head)
        ended = state.namespace("ended-sources")
        found: dict[str, SourcePositions] = {}
        for uid in manifest.operator_uids:
            if not str(manifest.plan[uid]).startswith("Source,"):
                continue
            found[uid] = SourcePositions(uid in ended, dict(state.namespace(f"source/{uid}")))
        return found

    def tokens(self, manifest: Manifest) -> dict[str, int]:
        """How many pieces of output the epoch published, by the uid of the sink."""
        if manifest.tokens is None:
            return {}
        staged = json.loads(self.storage.read_verified(manifest.tokens))
        return {uid: sum(map(len, subtasks.values())) for uid, subtasks in staged.items()}

    def state(self, manifest: Manifest) -> StateContents:
        """What the state of all operators holds."""
        heads = {} if manifest.index is None else read_all_heads(self.storage, manifest.index)
        return measure(self.storage, heads.values())

    def size(self) -> int:
        """The bytes of all files in the directory."""
        root = Path(self.storage.location)
        return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def checkpoints_below(directory: Path) -> list[Path]:
    """The checkpoint directories in a directory, itself among them, at any depth."""
    found = {path.parent for path in directory.rglob(_MANIFESTS) if path.is_dir() and any(path.glob("*.json"))}
    return sorted(found)
