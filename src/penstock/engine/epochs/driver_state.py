"""The driver's own durable state: what enumerators remember and which splits are live. Deltas, as for subtasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from penstock.connectors.sink import EpochId
from penstock.state.background_snapshots import InlineSnapshots
from penstock.state.memory import MemoryStore
from penstock.state.state_files import bring_to, write_delta
from penstock.state.storage import CheckpointStorage

DRAINED = "drained"
"""What is said of a source that was ended before its own end."""
DRIVER_STAGE = 0
"""State of stage 0 is the driver's: source tasks have none."""


class DriverState:
    """One ordered map; each part of the driver has a namespace in it."""

    def __init__(self, storage: CheckpointStorage, head: str | None) -> None:
        self._storage = storage
        self._store = MemoryStore()
        self._snapshots = InlineSnapshots()
        self._head = head
        bring_to(self._store, head, storage)
        self._saved_union_lists = self.namespace("union-lists")
        self.union_lists: dict[str, list[str]] = dict(self._saved_union_lists)
        """What all subtasks have saved in union lists: by the list, that of each subtask."""

    def namespace(self, name: str) -> MutableMapping[str, Any]:
        """A durable map of JSON values."""
        return _Namespace(self._store, name.encode() + b"\x00")

    def save_union_lists(self, of_subtasks: Iterable[Mapping[str, str]]) -> None:
        """Takes what the subtasks have saved in this epoch, all that there is."""
        lists: dict[str, list[str]] = {}
        for of_subtask in of_subtasks:
            for key, text in of_subtask.items():
                lists.setdefault(key, []).append(text)
        self._saved_union_lists.update(lists)
        self.union_lists |= lists

    def stage(self, epoch: EpochId) -> str | None:
        """Writes what changed; returns the new head, which is the truth once a manifest names it."""
        changes = self._store.changes()
        if not changes:
            return self._head
        base = self._snapshots.take(self._storage, self._head, epoch.number)
        return write_delta(self._storage, self._prefix(epoch), changes, self._head, epoch, base=base)

    def committed(self, head: str | None, epoch: EpochId) -> None:
        """The manifest that names `head` is on disk."""
        if head is not None and head != self._head:
            self._store.apply(self._store.changes(), head)
            self._store.discard_changes()
            self._snapshots.begin(self._store, self._storage, head, self._prefix(epoch))
        self._head = head

    def _prefix(self, epoch: EpochId) -> str:
        return f"state/{epoch.incarnation}/{epoch.number}-{DRIVER_STAGE}-0"


class _Namespace(MutableMapping[str, Any]):
    """JSON values under a prefix of a store."""

    def __init__(self, store: MemoryStore, prefix: bytes) -> None:
        self._store = store
        self._prefix = prefix

    def __getitem__(self, key: str) -> Any:
        value = self._store.get(self._prefix + key.encode())
        if value is None:
            raise KeyError(key)
        return json.loads(value)

    def __setitem__(self, key: str, value: Any) -> None:
        encoded = json.dumps(value, sort_keys=True).encode()
        full = self._prefix + key.encode()
        if self._store.get(full) != encoded:
            self._store.put(full, encoded)

    def __delitem__(self, key: str) -> None:
        full = self._prefix + key.encode()
        if self._store.get(full) is None:
            raise KeyError(key)
        self._store.delete(full)

    def __iter__(self) -> Iterator[str]:
        for key, _ in list(self._store.scan(self._prefix, self._prefix + b"\xff" * 8)):
            yield key[len(self._prefix) :].decode()

    def __len__(self) -> int:
        return sum(1 for _ in self._store.scan(self._prefix, self._prefix + b"\xff" * 8))
