"""How much state each operator has in a checkpoint: counted from the files, without decoding a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.functions.timer_service import TimeDomain
from penstock.runtime.timers import timer_prefix
from penstock.state.catalogue import StateDescription, described_states, prefix_of
from penstock.state.state_file_format import read_state_file
from penstock.state.storage import CheckpointStorage


@dataclass
class StateSize:
    """The entries of one piece of state, over all subtasks."""

    entries: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class StateContents:
    """What the state files of a manifest hold."""

    descriptions: tuple[StateDescription, ...]
    """Every piece of state that says what it is."""
    sizes: dict[bytes, StateSize]
    """By the prefix of the entries."""

    def size_of(self, uid: str, name: str) -> StateSize:
        """The size of one piece of state."""
        return self.sizes.get(prefix_of(uid, name), StateSize())

    def timers_of(self, uid: str) -> StateSize:
        """The number and size of an operator's timers."""
        found = [self.sizes.get(timer_prefix(uid, domain), StateSize()) for domain in TimeDomain]
        return StateSize(sum(each.entries for each in found), sum(each.bytes for each in found))


def measure(storage: CheckpointStorage, heads: Iterable[str]) -> StateContents:
    """Reads the files of some subtasks, one subtask at a time; every file is checked against its hash."""
    sizes: dict[bytes, StateSize] = {}
    descriptions: set[StateDescription] = set()
    for head in heads:
        entries = list(_entries(storage, head))
        descriptions |= set(described_states(entries))
        for key, value in entries:
            size = sizes.setdefault(key[: len(prefix_of("", ""))], StateSize())
            size.entries += 1
            size.bytes += len(key) + len(value)
    return StateContents(tuple(sorted(descriptions, key=lambda each: (each.uid, each.name))), sizes)


def _entries(storage: CheckpointStorage, head: str) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a state, from the newest file to the oldest: the newest word on a key counts."""
    seen: set[bytes] = set()
    path: str | None = head
    while path is not None:
        file = read_state_file(storage, path)
        for key, value in file.entries:
            if key not in seen:
                seen.add(key)
                if value is not None:
                    yield key, value
        path = None if file.header.kind == "snapshot" else file.header.parent
