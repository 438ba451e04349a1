"""The snapshot of a harness for a harness of another parallelism: spread as a job's state is from a savepoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.engine.epochs.event_time_restore import merged_inputs
from penstock.engine.epochs.job_snapshot import JobSnapshot
from penstock.engine.epochs.restore import StateRestore
from penstock.engine.epochs.snapshot_parts import SnapshotPart
from penstock.engine.stages.compiled import CompiledJob
from penstock.state.catalogue import StateDescription
from penstock.state.savepoints.header import OperatorDescription, SavepointHeader, SourceDescription
from penstock.state.savepoints.row_entries import SubtaskEntry
from penstock.state.savepoints.subtask_tables import GATE_PREFIX, GENERATOR_TAG, uid_digest
from penstock.state.savepoints.timer_rows import is_timer
from penstock.testing.chain_subtask import Entries

Places = Mapping[tuple[int, int], Entries]
"""Entries by chain and subtask."""


class _HarnessState(JobSnapshot):
    location = "the snapshot of a harness"

    def __init__(
        self, operators: tuple[OperatorDescription, ...], places: Places, union_lists: Mapping[str, list[str]]
    ) -> None:
        self._by_digest = {uid_digest(each.uid): each for each in operators}
        self._entries: list[tuple[str, SubtaskEntry]] = []
        gates: dict[str, dict[int, Any]] = {}
        generators: dict[str, dict[str, Any]] = {}
        for (_, subtask), entries in sorted(places.items()):
            for key, value in entries:
                if key.startswith(GATE_PREFIX):
                    uid = self._by_digest[key[len(GATE_PREFIX) :]].uid
                    gates.setdefault(uid, {})[subtask] = json.loads(value)
                    continue
                uid = self._by_digest[key[:8]].uid
                if key[8:12] == GENERATOR_TAG:
                    generators.setdefault(uid, {})[str(subtask)] = json.loads(value)
                else:
                    self._entries.append((uid, (subtask, key, value)))
        self.header = SavepointHeader(
            operators=operators,
            sources={each.uid: SourceDescription(splits={"0": 0}) for each in operators if each.source},
            union_lists=dict(union_lists),
            event_time={uid: merged_inputs(self._by_digest[uid_digest(uid)], each) for uid, each in gates.items()},
            generators=generators,
        )

    def parts(self) -> Sequence[SnapshotPart]:
        return ()

    def entries(self, max_parallelism: Mapping[str, int]) -> Iterator[tuple[str, SubtaskEntry]]:
        return iter(self._entries)

    def uids_with_state(self) -> set[str]:
        return {uid for uid, _ in self._entries}

    def uids_with_timers(self) -> set[str]:
        return {uid for uid, (_, key, _) in self._entries if is_timer(key)}

    def descriptions(self) -> list[StateDescription]:
        return []


def spread(
    operators: tuple[OperatorDescription, ...],
    places: Places,
    union_lists: Mapping[str, list[str]],
    job: CompiledJob,
) -> dict[tuple[int, int], Entries]:
    """The entries of the subtasks of a job, by chain and subtask."""
    state = _HarnessState(operators, places, union_lists)
    stores = StateRestore(state, job, allow_non_restored_state=False).stores()
    found: dict[tuple[int, int], Entries] = {}
    for chain in job.chains:
        own = {uid_digest(node.uid) for node in chain.nodes}
        gate = GATE_PREFIX + uid_digest(chain.head.uid)
        for subtask in range(chain.parallelism):
            entries = stores.get((chain.level, subtask), {})
            found[chain.number, subtask] = sorted(
                (key, value) for key, value in entries.items() if key == gate or key[:8] in own
            )
    return found
