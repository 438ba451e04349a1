"""State of one plan laid out for another: other parallelism, other chains, operators added and removed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from penstock.common.errors import StateCorruptionError
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.event_time_restore import EventTimeRestore, merged_generator
from penstock.engine.epochs.job_snapshot import JobSnapshot
from penstock.engine.epochs.placing import Place, PlaceKeys, Target, group_of
from penstock.engine.epochs.snapshot_parts import PartFacts
from penstock.engine.epochs.spreading import Spread, in_this_process, spread_for
from penstock.engine.epochs.upgrade import check_upgrade
from penstock.engine.stages.compiled import CompiledJob
from penstock.plan.nodes import Node
from penstock.state.index import write_index
from penstock.state.operator_state import split_evenly
from penstock.state.savepoints.entry_rows import BROADCAST_GROUP, OPERATOR_GROUP
from penstock.state.savepoints.header import SavepointHeader
from penstock.state.savepoints.subtask_tables import GATE_PREFIX, GENERATOR_TAG, uid_digest
from penstock.state.snapshots import write_state
from penstock.state.sorted_entries import SortedEntries
from penstock.state.storage import CheckpointStorage
from penstock.state.value_serializers import join_values, split_values

_NO_KEY_BYTES = 18
"""Prefix, group and length: where the keys of state without a key go on."""
_PART_BYTES = 4


@dataclass(frozen=True)
class RestoredState:
    """What a manifest needs to name."""

    index: str | None
    driver_head: str | None
    next_timer: int | None
    now: int
    records_read: int
    operator_records: Mapping[str, Mapping[str, int]]
    final: bool


@dataclass
class _Places:
    """The stores of the subtasks to be."""

    stores: dict[Place, dict[bytes, bytes]] = field(default_factory=dict["Place", "dict[bytes, bytes]"])

    def put(self, level: int, subtask: int, key: bytes, value: bytes) -> None:
        self.stores.setdefault((level, subtask), {})[key] = value


class StateRestore:
    """Spreads the state of a snapshot over the subtasks of a job."""

    def __init__(self, snapshot: JobSnapshot, job: CompiledJob, *, allow_non_restored_state: bool) -> None:
        self._snapshot = snapshot
        self._job = job
        self._allow = allow_non_restored_state
        self._nodes: dict[str, Node] = {}
        self._levels: dict[str, int] = {}
        for chain in job.chains:
            for node in chain.nodes:
                self._nodes[node.uid] = node
                self._levels[node.uid] = chain.level
        self._targets = {
            uid: Target(self._levels[uid], node.parallelism, node.max_parallelism) for uid, node in self._nodes.items()
        }
        self._places = _Places()
        self._copied_from: dict[bytes, int] = {}
        """Of state that all subtasks have a copy of: whose copy is taken."""
        self._own: dict[tuple[str, bytes], dict[int, dict[bytes, bytes]]] = {}
        """Entries of subtasks without a key: by operator and prefix, by subtask."""

    def stores(self) -> dict[Place, dict[bytes, bytes]]:
        """The entries of each (stage, subtask). Raises `CheckpointError` with a list of what does not fit."""
        targets = self._known_targets()
        for uid, entry in self._snapshot.entries({uid: each.max_parallelism for uid, each in targets.items()}):
            group = group_of(entry[1])
            if group < targets[uid].max_parallelism:
                self._places.put(targets[uid].level, targets[uid].subtask_of(group), entry[1], entry[2])
            else:
                self._place(uid, group, *entry)
        return self._placed_all()

    def write(self, storage: CheckpointStorage, epoch: EpochId, spread: Spread) -> dict[Place, str]:
        """Writes the state of each (stage, subtask), staged under `epoch`, and returns its name.

        What keys have is read and written by tasks, and never comes to the driver.
        """
        parts = self._snapshot.parts()
        work = PlaceKeys(storage, epoch, self._known_targets())
        pieces: dict[Place, list[str]] = {}
        facts = PartFacts()
        for placed in spread_for(sum(part.size for part in parts), spread)(work, parts):
            facts.add(placed.facts)
            for place, paths in placed.pieces.items():
                pieces.setdefault(place, []).extend(paths)
            for uid, entry in placed.others:
                self._place(uid, group_of(entry[1]), *entry)
        self._snapshot.took(facts)
        stores = self._placed_all()
        heads: dict[Place, str] = {}
        for place in sorted({*pieces, *stores}):
            prefix = f"state/{epoch.incarnation}/{epoch.number}-{place[0]}-{place[1]}"
            entries = SortedEntries.of_changes(stores.get(place, {}))
            heads[place] = write_state(storage, prefix, [entries], epoch, pieces.get(place, ()))
        return heads

    def _known_targets(self) -> dict[str, Target]:
        old = {each.uid for each in self._snapshot.header.operators}
        return {uid: target for uid, target in self._targets.items() if uid in old}

    def _placed_all(self) -> dict[Place, dict[bytes, bytes]]:
        check_upgrade(self._snapshot, self._job, allow_non_restored_state=self._allow)
        old = {each.uid: each for each in self._snapshot.header.operators}
        for (uid, prefix), of_subtasks in self._own.items():
            self._spread(uid, prefix, of_subtasks, old[uid].parallelism)
        self._place_event_time()
        return self._places.stores

    def _place(self, uid: str, group: int, subtask: int, key: bytes, value: bytes) -> None:
        """An entry that is no key's."""
        node = self._nodes[uid]
        if group == BROADCAST_GROUP:
            if self._copied_from.setdefault(key if key[8:9] == b"\0" else key[:12], subtask) == subtask:
                for each in range(node.parallelism):
                    self._places.put(self._levels[uid], each, key, value)
        elif group == OPERATOR_GROUP:
            self._own.setdefault((uid, key[:12]), {}).setdefault(subtask, {})[key] = value
        else:
            raise StateCorruptionError(
                f"{self._snapshot.location}: an entry of operator '{uid}' belongs to key group {group} of "
                f"{node.max_parallelism}"
            )

    def _spread(
        self, uid: str, prefix: bytes, of_subtasks: Mapping[int, Mapping[bytes, bytes]], old_parallelism: int
    ) -> None:
        node, level = self._nodes[uid], self._levels[uid]
        if node.parallelism == old_parallelism:
            for subtask, entries in of_subtasks.items():
                for key, value in entries.items():
                    self._places.put(level, subtask, key, value)
            return
        keys = {key for entries in of_subtasks.values() for key in entries}
        if any(len(key) != _NO_KEY_BYTES + _PART_BYTES for key in keys):
            # No list but something that every subtask has found out for itself.
            known = [of_subtasks[subtask] for subtask in sorted(of_subtasks)]
            for subtask in range(node.parallelism):
                for key, value in known[subtask % len(known)].items():
                    self._places.put(level, subtask, key, value)
            return
        lists = [
            [element for _, data in sorted(of_subtasks[subtask].items()) for element in split_values(data)]
            for subtask in sorted(of_subtasks)
        ]
        key = min(keys)[:_NO_KEY_BYTES] + bytes(_PART_BYTES)
        for subtask, elements in enumerate(split_evenly(lists, node.parallelism)):
            if elements:
                self._places.put(level, subtask, key, join_values(elements))

    def _place_event_time(self) -> None:
        header = self._snapshot.header
        times = EventTimeRestore(header, self._job)
        for chain in self._job.chains:
            if chain.level == 0:
                continue
            data = json.dumps(times.of_chain(chain), sort_keys=True).encode()
            for subtask in range(chain.parallelism):
                self._places.put(chain.level, subtask, GATE_PREFIX + uid_digest(chain.head.uid), data)
        if header.drained:
            return
        for uid, generators in header.generators.items():
            node = self._nodes.get(uid)
            if node is None or self._levels[uid] == 0:
                continue
            same = len(generators) == node.parallelism
            for subtask in range(node.parallelism):
                progress = generators.get(str(subtask)) if same else None
                if progress is None:
                    progress = merged_generator(list(generators.values()))
                data = json.dumps(progress, sort_keys=True).encode()
                self._places.put(self._levels[uid], subtask, uid_digest(uid) + GENERATOR_TAG, data)

    # --- the driver's state

    def fill_driver_state(self, state: DriverState) -> bool:
        """Makes the driver's state that of the new job; returns whether all of its sources have ended."""
        header = self._snapshot.header
        sources = {uid for uid, node in self._nodes.items() if node.kind == "Source"}
        ended, silent = state.namespace("ended-sources"), state.namespace("silent-sources")
        splits = state.namespace("splits")
        state.namespace("split-counter")["next"] = header.split_counter
        for uid, source in header.sources.items():
            kept = uid in sources
            _set(state.namespace(f"source/{uid}"), source.state if kept else {})
            _set(state.namespace(f"split-times/{uid}"), source.times if kept and not header.drained else {})
            for split, number in source.splits.items():
                _set_one(splits, f"{uid}/{split}", number if kept else None)
            _set_one(ended, uid, True if kept and source.ended else None)
            _set_one(silent, uid, True if kept and source.silent and not header.drained else None)
        digests = {blake2b(uid.encode(), digest_size=8).hexdigest() for uid in self._nodes}
        lists = {key: texts for key, texts in header.union_lists.items() if key[:16] in digests}
        _set(state.namespace("union-lists"), lists)
        return bool(sources) and all(uid in ended for uid in sources)


def _set(namespace: Any, content: Mapping[str, Any]) -> None:
    for key in [key for key in namespace if key not in content]:
        del namespace[key]
    namespace.update(content)


def _set_one(namespace: Any, key: str, value: Any) -> None:
    if value is None:
        namespace.pop(key, None)
    else:
        namespace[key] = value


def restore_state(
    snapshot: JobSnapshot,
    job: CompiledJob,
    storage: CheckpointStorage,
    epoch: EpochId,
    driver_head: str | None = None,
    *,
    allow_non_restored_state: bool = False,
    spread: Spread = in_this_process,
) -> RestoredState:
    """Writes the state of a snapshot as that of a job, staged under `epoch`; it counts once a manifest names it.

    `driver_head` is the driver's state to go on from, where the snapshot is of the same checkpoint.
    """
    restore = StateRestore(snapshot, job, allow_non_restored_state=allow_non_restored_state)
    heads = restore.write(storage, epoch, spread)
    index = write_index(storage, f"index/{epoch.incarnation}/{epoch.number}", heads) if heads else None
    state = DriverState(storage, driver_head)
    final = restore.fill_driver_state(state)
    header: SavepointHeader = snapshot.header
    uids = {node.uid for chain in job.chains for node in chain.nodes}
    return RestoredState(
        index=index,
        driver_head=state.stage(epoch),
        next_timer=header.next_timer,
        now=header.now,
        records_read=header.records_read,
        operator_records={uid: each for uid, each in header.operator_records.items() if uid in uids},
        final=final,
    )
