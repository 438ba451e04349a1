"""All state of a job at one point, whether a checkpoint or a savepoint holds it."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.common.errors import CheckpointError
from penstock.engine.epochs.driver_state import DRAINED, DriverState
from penstock.engine.epochs.event_time_restore import merged_inputs
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.epochs.plan_description import read_plan
from penstock.state.catalogue import StateDescription, description_from, is_description
from penstock.state.index import read_all_heads
from penstock.state.memory import MemoryStore
from penstock.state.savepoints.header import (
    OperatorDescription,
    SavepointHeader,
    SourceDescription,
    read_savepoint_header,
)
from penstock.state.savepoints.reading import operator_entries
from penstock.state.savepoints.row_entries import SubtaskEntry
from penstock.state.savepoints.writing import GATE_PREFIX, GENERATOR_TAG, uid_digest
from penstock.state.state_files import bring_to
from penstock.state.storage import CheckpointStorage
from penstock.state.store import Entry

_ALL_KEYS = b"", b"\xff" * 64


class JobSnapshot(ABC):
    """The state of a job: what its header says, and the entries of its operators."""

    header: SavepointHeader
    location: str
    is_own: bool = False
    """Whether it is in the checkpoint directory of the job that takes it up."""

    @abstractmethod
    def entries(self, max_parallelism: Mapping[str, int]) -> Iterator[tuple[str, SubtaskEntry]]:
        """All entries with the uid of their operator, for operators that have so many key groups from now on.

        Operators that are not named are left out. When all have been taken, `header` also says how far event time was.
        """

    @abstractmethod
    def uids_with_state(self) -> set[str]:
        """The operators that have state or timers, or a position in a source."""

    @abstractmethod
    def descriptions(self) -> list[StateDescription]:
        """What is said of each piece of state."""


class SavepointSnapshot(JobSnapshot):
    """A savepoint."""

    def __init__(self, storage: CheckpointStorage) -> None:
        self._storage = storage
        self.header = read_savepoint_header(storage)
        self.location = storage.location

    def entries(self, max_parallelism: Mapping[str, int]) -> Iterator[tuple[str, SubtaskEntry]]:
        """All entries, table by table."""
        for uid, count in max_parallelism.items():
            for entry in operator_entries(self._storage, self.header, uid, count):
                yield uid, entry

    def uids_with_state(self) -> set[str]:
        """The operators that have something in a table, a union list or a source's position."""
        header = self.header
        found = {table.uid for table in header.states if table.files}
        found |= {timers.uid for timers in header.timers if timers.files}
        return found | _uids_in_driver(header)

    def descriptions(self) -> list[StateDescription]:
        """What the header says of its tables."""
        return [
            StateDescription(each.uid, each.name, each.kind, each.type, each.schema.to_text())
            for each in self.header.states
            if each.kind and each.schema is not None
        ]


class CheckpointSnapshot(JobSnapshot):
    """A manifest of a checkpoint."""

    def __init__(self, storage: CheckpointStorage, manifest: Manifest) -> None:
        self._storage = storage
        self._manifest = manifest
        self.location = storage.location
        operators = read_plan(storage, manifest)
        self._by_digest = {uid_digest(each.uid): each for each in operators}
        self._with_state: set[str] = set()
        self._descriptions: dict[bytes, StateDescription] = {}
        self.header = _driver_header(storage, manifest, operators)

    def subtasks(self) -> Iterator[tuple[int, Iterator[Entry]]]:
        """The entries of each subtask of each stage, sorted."""
        heads = {} if self._manifest.index is None else read_all_heads(self._storage, self._manifest.index)
        for (_, subtask), head in sorted(heads.items()):
            store = MemoryStore()
            bring_to(store, head, self._storage)
            yield subtask, store.scan(*_ALL_KEYS)

    def entries(self, max_parallelism: Mapping[str, int]) -> Iterator[tuple[str, SubtaskEntry]]:
        """All entries, subtask by subtask."""
        gates: dict[str, dict[int, Any]] = {}
        generators: dict[str, dict[str, Any]] = {}
        for subtask, entries in self.subtasks():
            for key, value in entries:
                assert value is not None
                if key.startswith(GATE_PREFIX):
                    operator = self._by_digest.get(key[len(GATE_PREFIX) :])
                    if operator is not None:
                        gates.setdefault(operator.uid, {})[subtask] = json.loads(value)
                    continue
                operator = self._operator(key)
                if key[8:12] == GENERATOR_TAG:
                    generators.setdefault(operator.uid, {})[str(subtask)] = json.loads(value)
                    continue
                if is_description(key):
                    self._descriptions[key] = description_from(value)
                else:
                    self._with_state.add(operator.uid)
                wanted = max_parallelism.get(operator.uid)
                if wanted is None:
                    continue
                if wanted != operator.max_parallelism:
                    raise CheckpointError(
                        f"operator '{operator.uid}' had max parallelism {operator.max_parallelism} and now has "
                        f"{wanted}: a checkpoint cannot be taken up so. Make a savepoint of it (`penstock savepoint`) "
                        "and start from that."
                    )
                yield operator.uid, (subtask, key, value)
        self.header = replace(
            self.header,
            event_time={uid: merged_inputs(self._by_digest[uid_digest(uid)], each) for uid, each in gates.items()},
            generators=generators,
        )

    def uids_with_state(self) -> set[str]:
        """The operators that have entries, a union list or a source's position; known once all entries were taken."""
        return self._with_state | _uids_in_driver(self.header)

    def descriptions(self) -> list[StateDescription]:
        """What the state says of itself; known once all entries were taken."""
        return list(self._descriptions.values())

    def _operator(self, key: bytes) -> OperatorDescription:
        operator = self._by_digest.get(key[:8])
        if operator is None:
            raise CheckpointError(f"{self.location} has state of an operator that is not in its plan: {key[:12].hex()}")
        return operator


def _driver_header(
    storage: CheckpointStorage, manifest: Manifest, operators: tuple[OperatorDescription, ...]
) -> SavepointHeader:
    state = DriverState(storage, manifest.driver_head)
    ended, silent = state.namespace("ended-sources"), state.namespace("silent-sources")
    splits = state.namespace("splits")
    drained = any(value == DRAINED for value in ended.values())
    sources: dict[str, SourceDescription] = {}
    for operator in operators:
        uid = operator.uid
        if operator.source:
            sources[uid] = SourceDescription(
                ended=ended.get(uid) is True,
                silent=uid in silent,
                state=dict(state.namespace(f"source/{uid}")),
                splits={key[len(uid) + 1 :]: number for key, number in splits.items() if key.startswith(f"{uid}/")},
                times=dict(state.namespace(f"split-times/{uid}")),
            )
    return SavepointHeader(
        job_name=manifest.job_name,
        job_id=manifest.job_id,
        incarnation=manifest.incarnation,
        epoch=manifest.number,
        created=int(time.time() * 1000),
        now=manifest.now,
        next_timer=manifest.next_timer,
        records_read=manifest.records.get("read", 0),
        drained=drained,
        operators=operators,
        sources=sources,
        split_counter=state.namespace("split-counter").get("next", 0),
        union_lists=dict(state.union_lists),
    )


def _uids_in_driver(header: SavepointHeader) -> set[str]:
    digests = {uid_digest(each.uid).hex(): each.uid for each in header.operators}
    found = {digests[key[:16]] for key, lists in header.union_lists.items() if lists and key[:16] in digests}
    return found | {uid for uid, source in header.sources.items() if source.state or source.splits}
