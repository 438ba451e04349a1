"""All state of a job at one point, whether a checkpoint or a savepoint holds it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.engine.epochs.driver_state import DRAINED, DriverState
from penstock.engine.epochs.event_time_restore import merged_inputs
from penstock.engine.epochs.manifest import Manifest
from penstock.engine.epochs.plan_description import read_plan
from penstock.engine.epochs.snapshot_parts import CheckpointPart, PartFacts, SavepointPart, SnapshotPart
from penstock.state.catalogue import StateDescription
from penstock.state.index import read_all_heads
from penstock.state.savepoints.header import (
    OperatorDescription,
    SavepointHeader,
    SourceDescription,
    read_savepoint_header,
)
from penstock.state.savepoints.row_entries import SubtaskEntry
from penstock.state.savepoints.subtask_tables import uid_digest
from penstock.state.storage import CheckpointStorage


class JobSnapshot(ABC):
    """The state of a job: what its header says, and the entries of its operators."""

    header: SavepointHeader
    location: str
    is_own: bool = False
    """Whether it is in the checkpoint directory of the job that takes it up."""
    is_batch: bool = False
    """Whether it is of batch execution, which keeps no state."""

    @abstractmethod
    def parts(self) -> Sequence[SnapshotPart]:
        """All entries, in parts that can be read at the same time."""

    def took(self, facts: PartFacts) -> None:  # noqa: B027  most have nothing to learn
        """All parts have been read, and this was found in them: `header` also says how far event time was."""

    def entries(self, max_parallelism: Mapping[str, int]) -> Iterator[tuple[str, SubtaskEntry]]:
        """All entries with the uid of their operator, for operators that have so many key groups from now on.

        Operators that are not named are left out.
        """
        facts = PartFacts()
        for part in self.parts():
            yield from part.entries(max_parallelism, facts)
        self.took(facts)

    @abstractmethod
    def uids_with_state(self) -> set[str]:
        """The operators that have state or timers, or a position in a source."""

    @abstractmethod
    def uids_with_timers(self) -> set[str]:
        """The operators that have timers; known once all entries were taken."""

    @abstractmethod
    def descriptions(self) -> list[StateDescription]:
        """What is said of each piece of state."""


class SavepointSnapshot(JobSnapshot):
    """A savepoint."""

    def __init__(self, storage: CheckpointStorage) -> None:
        self._storage = storage
        self.header = read_savepoint_header(storage)
        self.location = storage.location

    def parts(self) -> Sequence[SavepointPart]:
        """The files of all tables."""
        parts: list[SavepointPart] = []
        for table in (*self.header.states, *self.header.timers):
            operator = self.header.operator(table.uid)
            files = [(file,) for file in table.files] or [()]
            parts += [
                SavepointPart(self._storage, operator, replace(table, files=of_part), is_first=place == 0)
                for place, of_part in enumerate(files)
            ]
        return parts

    def uids_with_state(self) -> set[str]:
        """The operators that have something in a table, a union list or a source's position."""
        header = self.header
        found = {table.uid for table in header.states if table.files}
        found |= {timers.uid for timers in header.timers if timers.files}
        return found | _uids_in_driver(header)

    def uids_with_timers(self) -> set[str]:
        """The operators that have timers in a table."""
        return {timers.uid for timers in self.header.timers if timers.files}

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
        self.is_batch = manifest.plan.get("execution") == "batch"
        operators = read_plan(storage, manifest)
        self._operators = {each.uid: each for each in operators}
        self._found = PartFacts()
        self.header = _driver_header(storage, manifest, operators)

    def heads(self) -> dict[tuple[int, int], str]:
        """The state of each (stage, subtask)."""
        return {} if self._manifest.index is None else read_all_heads(self._storage, self._manifest.index)

    def parts(self) -> Sequence[CheckpointPart]:
        """The subtasks."""
        operators = tuple(self._operators.values())
        heads = sorted(self.heads().items())
        return [CheckpointPart(self._storage, operators, subtask, head) for (_, subtask), head in heads]

    def took(self, facts: PartFacts) -> None:
        """All parts have been read."""
        self._found = facts
        self.header = replace(
            self.header,
            event_time={uid: merged_inputs(self._operators[uid], gates) for uid, gates in facts.gates.items()},
            generators=facts.generators,
        )

    def uids_with_state(self) -> set[str]:
        """The operators that have entries, a union list or a source's position; known once all entries were taken."""
        return self._found.with_state | _uids_in_driver(self.header)

    def uids_with_timers(self) -> set[str]:
        """The operators that have timers; known once all entries were taken."""
        return self._found.with_timers

    def descriptions(self) -> list[StateDescription]:
        """What the state says of itself; known once all entries were taken."""
        return list(self._found.descriptions.values())


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
        operator_records=manifest.operator_records,
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
