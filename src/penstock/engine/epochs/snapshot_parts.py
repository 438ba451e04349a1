"""Parts of the state of a job that can be read on their own: by the driver, or each by a task of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.common.errors import CheckpointError
from penstock.state.catalogue import StateDescription, description_from, is_description
from penstock.state.savepoints.header import OperatorDescription, StateTable, TimerTable
from penstock.state.savepoints.reading import state_entries, timers_as_entries
from penstock.state.savepoints.row_entries import SubtaskEntry
from penstock.state.savepoints.subtask_tables import GATE_PREFIX, GENERATOR_TAG, uid_digest
from penstock.state.savepoints.timer_rows import is_timer
from penstock.state.storage import CheckpointStorage
from penstock.state.stored_states import opened_state, stored_bytes

_ALL_KEYS = b"", b"\xff" * 64


@dataclass
class PartFacts:
    """What is found beside the entries of operators: small, whatever the size of the state."""

    gates: dict[str, dict[int, Any]] = field(default_factory=dict[str, "dict[int, Any]"])
    """By the uid of the first operator of a chain and the subtask: how far event time has come on its inputs."""
    generators: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    """By uid and subtask: how far operators have come that make watermarks."""
    descriptions: dict[bytes, StateDescription] = field(default_factory=dict[bytes, StateDescription])
    with_state: set[str] = field(default_factory=set[str])
    """The uids of operators that have entries."""
    with_timers: set[str] = field(default_factory=set[str])
    """The uids of operators that have timers."""

    def add(self, other: PartFacts) -> None:
        """Takes in what was found in another part."""
        for uid, gates in other.gates.items():
            self.gates.setdefault(uid, {}).update(gates)
        for uid, generators in other.generators.items():
            self.generators.setdefault(uid, {}).update(generators)
        self.descriptions |= other.descriptions
        self.with_state |= other.with_state
        self.with_timers |= other.with_timers


class SnapshotPart(Protocol):
    """A part of the entries of a job."""

    @property
    def size(self) -> int:
        """About how many bytes are read for it."""
        ...

    def entries(self, max_parallelism: Mapping[str, int], facts: PartFacts) -> Iterator[tuple[str, SubtaskEntry]]:
        """Its entries with the uid of their operator, for operators that have so many key groups from now on.

        Operators that are not named are left out. `facts` takes what else is found.
        """
        ...


@dataclass(frozen=True)
class CheckpointPart:
    """The state of one subtask, in a checkpoint."""

    storage: CheckpointStorage
    operators: tuple[OperatorDescription, ...]
    subtask: int
    head: str

    @property
    def size(self) -> int:
        """About how many bytes of files the state is made of."""
        return stored_bytes(self.storage, self.head)

    def entries(self, max_parallelism: Mapping[str, int], facts: PartFacts) -> Iterator[tuple[str, SubtaskEntry]]:
        """The entries of the subtask."""
        by_digest = {uid_digest(each.uid): each for each in self.operators}
        with opened_state(self.storage, self.head) as store:
            for key, value in store.scan(*_ALL_KEYS):
                operator = by_digest.get(key[len(GATE_PREFIX) :] if key.startswith(GATE_PREFIX) else key[:8])
                if key.startswith(GATE_PREFIX):
                    if operator is not None:
                        facts.gates.setdefault(operator.uid, {})[self.subtask] = json.loads(value)
                    continue
                if operator is None:
                    raise CheckpointError(
                        f"{self.storage.location} has state of an operator that is not in its plan: {key[:12].hex()}"
                    )
                if key[8:12] == GENERATOR_TAG:
                    facts.generators.setdefault(operator.uid, {})[str(self.subtask)] = json.loads(value)
                    continue
                if is_description(key):
                    facts.descriptions[key] = description_from(value)
                else:
                    facts.with_state.add(operator.uid)
                if is_timer(key):
                    facts.with_timers.add(operator.uid)
                wanted = max_parallelism.get(operator.uid)
                if wanted is None:
                    continue
                if wanted != operator.max_parallelism:
                    raise CheckpointError(
                        f"operator '{operator.uid}' had max parallelism {operator.max_parallelism} and now has "
                        f"{wanted}: a checkpoint cannot be taken up so. Make a savepoint of it (`penstock savepoint`) "
                        "and start from that."
                    )
                yield operator.uid, (self.subtask, key, value)


@dataclass(frozen=True)
class SavepointPart:
    """One file of a table of a savepoint; where a table has none, what is said of it."""

    storage: CheckpointStorage
    operator: OperatorDescription | None
    """Whose state it is; None where the savepoint does not know it."""
    table: StateTable | TimerTable
    """With that file alone."""
    is_first: bool

    @property
    def size(self) -> int:
        """The bytes of the file."""
        with suppress(FileNotFoundError):  # whoever reads it says what is missing
            return sum(self.storage.resolve(file.path).stat().st_size for file in self.table.files)
        return 0

    def entries(self, max_parallelism: Mapping[str, int], facts: PartFacts) -> Iterator[tuple[str, SubtaskEntry]]:
        """The entries that the file shows."""
        wanted = max_parallelism.get(self.table.uid)
        if wanted is None:
            return
        if isinstance(self.table, StateTable):
            entries = state_entries(self.storage, self.operator, self.table, wanted, with_description=self.is_first)
        else:
            entries = timers_as_entries(self.storage, self.table, wanted)
        for entry in entries:
            yield self.table.uid, entry
