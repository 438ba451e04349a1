"""What pieces of state a store holds, in words: entries beside the state itself, for those who look into a checkpoint.

The key of such an entry is

    8 bytes of blake2b(uid) | "\\0cat" | ffff | length 0 | the state's name

which looks like broadcast state, and every subtask has its own; the value is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from penstock.state.descriptors import StateDescriptor
from penstock.state.state_keys import BroadcastKeys
from penstock.state.store import StateStore

_TAG = b"\0cat"
_UID_BYTES = 8


@dataclass(frozen=True)
class StateDescription:
    """One piece of state of an operator."""

    uid: str
    name: str
    kind: str
    """`ValueState`, `MapState`, ..."""
    type: str
    """The declared type; `object` where none is declared."""


class StateCatalogue:
    """The descriptions of an operator's state, on their way into its store."""

    def __init__(self, store: StateStore, uid: str) -> None:
        self._store = store
        self._uid = uid
        self._entries: dict[bytes, bytes] = {}

    def add(self, descriptor: StateDescriptor, kind: str = "") -> None:
        """Takes in a piece of state; its kind is that of the descriptor unless given."""
        described = StateDescription(
            self._uid,
            descriptor.name,
            kind or type(descriptor).__name__.removesuffix("Descriptor"),
            "object" if descriptor.type_info is None else str(descriptor.type_info),
        )
        self._entries[_entry_key(self._uid, descriptor.name)] = json.dumps(asdict(described), sort_keys=True).encode()

    def flush(self) -> None:
        """Writes what the store does not have yet."""
        for key, value in self._entries.items():
            if self._store.get(key) != value:
                self._store.put(key, value)


def described_states(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[StateDescription]:
    """The descriptions among the entries of a store."""
    for key, value in entries:
        if key[_UID_BYTES : _UID_BYTES + len(_TAG)] == _TAG:
            yield StateDescription(**json.loads(value))


def prefix_of(uid: str, name: str) -> bytes:
    """What the keys of all entries of a piece of state begin with."""
    return BroadcastKeys(uid, name).prefix


def _entry_key(uid: str, name: str) -> bytes:
    of_no_key = BroadcastKeys(uid, "")
    return of_no_key.prefix[:_UID_BYTES] + _TAG + of_no_key.of(b"")[len(of_no_key.prefix) :] + name.encode()
