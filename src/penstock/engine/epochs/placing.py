"""Where the entries of one plan go in another: those of keys to files of their new subtasks, the rest to the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct

from penstock.connectors.sink import EpochId
from penstock.engine.epochs.snapshot_parts import PartFacts, SnapshotPart
from penstock.state.key_groups import subtask_of_key_group
from penstock.state.savepoints.entry_rows import BROADCAST_GROUP
from penstock.state.savepoints.row_entries import SubtaskEntry
from penstock.state.savepoints.timer_rows import is_timer
from penstock.state.snapshots import PIECE_BYTES, write_piece
from penstock.state.sorted_entries import SortedEntries
from penstock.state.storage import CheckpointStorage

Place = tuple[int, int]
"""A stage and a subtask of it."""

_GROUP = Struct(">H")
_TTL_TAG = b"\0ttl"
_ENTRY_BYTES = 100
"""What an entry costs in memory beside its key and value."""


@dataclass(frozen=True)
class Target:
    """An operator of the new plan."""

    level: int
    parallelism: int
    max_parallelism: int

    def subtask_of(self, group: int) -> int:
        """The subtask that has a key group."""
        return subtask_of_key_group(group, self.max_parallelism, self.parallelism)


def group_of(key: bytes) -> int:
    """The key group of an entry, or what stands in its place where it is no key's."""
    if key[8:12] == _TTL_TAG:
        return BROADCAST_GROUP
    (group,) = _GROUP.unpack_from(key, 20 if is_timer(key) else 12)
    return group


@dataclass
class Placed:
    """What became of a part."""

    pieces: dict[Place, list[str]] = field(default_factory=dict["Place", "list[str]"])
    """The files with what keys have, by where they go."""
    others: list[tuple[str, SubtaskEntry]] = field(default_factory=list["tuple[str, SubtaskEntry]"])
    """All else, with the uid of its operator."""
    facts: PartFacts = field(default_factory=PartFacts)


@dataclass(frozen=True)
class PlaceKeys:
    """Reads a part, and writes what keys have into files for their new subtasks. Runs in tasks."""

    storage: CheckpointStorage
    epoch: EpochId
    targets: Mapping[str, Target]
    """By uid."""

    def __call__(self, part: SnapshotPart) -> Placed:
        """The part in its new places."""
        placed = Placed()
        pending: dict[Place, dict[bytes, bytes]] = {}
        size = 0
        wanted = {uid: target.max_parallelism for uid, target in self.targets.items()}
        for uid, entry in part.entries(wanted, placed.facts):
            subtask, key, value = entry
            target = self.targets[uid]
            group = group_of(key)
            if group >= target.max_parallelism:
                placed.others.append((uid, (subtask, key, value)))
                continue
            pending.setdefault((target.level, target.subtask_of(group)), {})[key] = value
            size += len(key) + len(value) + _ENTRY_BYTES
            if size >= PIECE_BYTES:
                self._write(pending, placed)
                size = 0
        self._write(pending, placed)
        return placed

    def _write(self, pending: dict[Place, dict[bytes, bytes]], placed: Placed) -> None:
        for (level, subtask), entries in pending.items():
            prefix = f"state/{self.epoch.incarnation}/{self.epoch.number}-{level}-{subtask}"
            path = write_piece(self.storage, prefix, SortedEntries.of_changes(entries), self.epoch)
            placed.pieces.setdefault((level, subtask), []).append(path)
        pending.clear()
