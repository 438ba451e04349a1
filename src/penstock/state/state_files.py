"""State files: what a subtask's state is, as a chain of files in the checkpoint directory.

A *delta* holds the entries that one epoch changed and names its parent, the state that was there before. A
*snapshot* holds all entries of the state that its parent names. The path of a file, which ends in the hash of its
content, names a state for ever: it is all that the manifest stores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from penstock.common.errors import StateCorruptionError, StateError
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_file_format import (
    StateFileHeader,
    read_header,
    read_state_file,
    write_state_file,
)
from penstock.state.state_sizes import Sizes, sizes_in
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore, StoreChangedError

_MAX_CHAIN = 200
_MIN_SNAPSHOT_BYTES = 4 << 20
_DELTAS_PER_SNAPSHOT = 2
"""A snapshot is due when the deltas since the last are this many times its size: more would slow recovery down."""
_ENTRIES_PER_TRANSACTION = 200_000
_ATTEMPTS = 10
_AFTER_ALL_KEYS = b"\xff" * 64


def write_delta(
    storage: CheckpointStorage,
    prefix: str,
    entries: SortedEntries,
    parent: str | None,
    epoch: tuple[int, int],
    sizes: Sizes | None = None,
) -> str:
    """Writes the entries that an epoch changed, sorted by key; the path that it returns names the new state.

    `epoch` is (incarnation, number), `sizes` how large the state of each operator is with these changes.
    """
    below = None if parent is None else read_header(storage, parent)
    body = entries.encode()
    header = StateFileHeader(
        kind="delta",
        parent=parent,
        incarnation=epoch[0],
        epoch=epoch[1],
        entries=len(entries),
        chain=1 if below is None else below.chain + 1,
        delta_bytes=len(body) + (0 if below is None else below.delta_bytes),
        snapshot_bytes=0 if below is None else below.snapshot_bytes,
        sizes=sizes or {},
    )
    return write_state_file(storage, prefix, header, body)


def write_snapshot(storage: CheckpointStorage, store: StateStore, head: str, prefix: str) -> str:
    """Writes all entries of a store that is at `head` and has no changes; returns the state's new name."""
    if store.tag != head:
        raise StateError(f"a snapshot of {head} was asked for, but the store is at {store.tag}")
    replaced = read_header(storage, head)
    entries = SortedEntries.of_sorted(store.scan(b"", _AFTER_ALL_KEYS))
    body = entries.encode()
    header = StateFileHeader(
        kind="snapshot",
        parent=head,
        incarnation=replaced.incarnation,
        epoch=replaced.epoch,
        entries=len(entries),
        chain=0,
        delta_bytes=0,
        snapshot_bytes=len(body),
        sizes=sizes_in(entries),
    )
    return write_state_file(storage, prefix, header, body)


def write_first_state(storage: CheckpointStorage, prefix: str, entries: SortedEntries, epoch: tuple[int, int]) -> str:
    """Writes all entries that a subtask starts with; returns the state's name."""
    body = entries.encode()
    header = StateFileHeader(
        kind="snapshot",
        parent=None,
        incarnation=epoch[0],
        epoch=epoch[1],
        entries=len(entries),
        chain=0,
        delta_bytes=0,
        snapshot_bytes=len(body),
        sizes=sizes_in(entries),
    )
    return write_state_file(storage, prefix, header, body)


def should_snapshot(header: StateFileHeader) -> bool:
    """Whether rebuilding this state reads so many deltas that a snapshot of it is due."""
    limit = max(_DELTAS_PER_SNAPSHOT * header.snapshot_bytes, _MIN_SNAPSHOT_BYTES)
    return header.delta_bytes > limit or header.chain > _MAX_CHAIN


def snapshot_follows(header: StateFileHeader | None, changed: int) -> bool:
    """Whether a snapshot is due after one more delta with so many bytes of keys and values."""
    if header is None:
        return changed > _MIN_SNAPSHOT_BYTES
    return should_snapshot(replace(header, delta_bytes=header.delta_bytes + changed, chain=header.chain + 1))


def snapshot_if_due(storage: CheckpointStorage, store: StateStore, head: str, prefix: str) -> str:
    """Replaces a long chain of deltas: the new name of the state that the store is at, or `head` as it is."""
    if not should_snapshot(read_header(storage, head)):
        return head
    snapshot = write_snapshot(storage, store, head, prefix)
    store.apply((), snapshot)
    return snapshot


def live_files(storage: CheckpointStorage, heads: Iterable[str]) -> set[str]:
    """All state files that are needed to rebuild the given states."""
    live: set[str] = set()
    for head in heads:
        path: str | None = head
        while path is not None and path not in live:
            live.add(path)
            header = read_header(storage, path)
            path = None if header.kind == "snapshot" else header.parent
    return live


def bring_to(store: StateStore, head: str | None, storage: CheckpointStorage) -> int:
    """Makes the store hold exactly the state that `head` names, and drops uncommitted changes.

    Returns how many bytes of keys and values were read from the checkpoint for it.

    What the store has already is used where the files lead to it; else it is rebuilt. Raises
    `StateCorruptionError` that names the file when one is damaged or missing.
    """
    store.discard_changes()
    fetched = 0
    for _ in range(_ATTEMPTS):
        try:
            tag = store.tag
            if head is None:
                store.wipe()
            elif tag != head:
                fetched += _follow(store, _route(storage, head, tag), storage)
            if store.tag == head:
                return fetched
        except StoreChangedError:
            # Another process works on the same store: a task that was given up, for instance.
            continue
    raise StateError(
        f"the local store cannot be brought to {head}: another process keeps changing it. Is the same job "
        "running twice on this machine?"
    )


class _Step(NamedTuple):
    path: str
    parent: str | None
    """The state that must be there before; None: an empty store."""
    same_state: bool = False
    """True where the parent is the same state under another name."""


def _route(storage: CheckpointStorage, head: str, tag: str | None) -> list[_Step]:
    """What to apply, oldest first: from the state that the store has, where that leads to `head`."""
    if tag is not None and _is_snapshot_of(storage, tag, head):
        return [_Step(head, tag, same_state=True)]
    steps: list[_Step] = []
    path: str | None = head
    while path is not None and path != tag:
        header = read_header(storage, path)
        if header.kind == "snapshot":
            steps += _steps_to_snapshot(storage, path, header.parent, tag)
            break
        steps.append(_Step(path, header.parent))
        path = header.parent
    return steps[::-1]


def _is_snapshot_of(storage: CheckpointStorage, path: str, replaced: str) -> bool:
    if not storage.exists(path):
        return False
    header = read_header(storage, path)
    return header.kind == "snapshot" and header.parent == replaced


def _steps_to_snapshot(storage: CheckpointStorage, path: str, replaced: str | None, tag: str | None) -> list[_Step]:
    """Newest first. The snapshot is not read by a store that has its state already, or is one delta behind."""
    if tag is not None and replaced is not None:
        renamed = _Step(path, replaced, same_state=True)
        if replaced == tag:
            return [renamed]
        if storage.exists(replaced) and read_header(storage, replaced).parent == tag:
            return [renamed, _Step(replaced, tag)]
    return [_Step(path, None)]


def _follow(store: StateStore, steps: list[_Step], storage: CheckpointStorage) -> int:
    fetched = 0
    if steps[0].parent is None:
        store.wipe()
    for step in steps:
        if step.same_state:
            store.apply((), step.path)
            continue
        file = read_state_file(storage, step.path)
        if file.header.kind == "delta" and file.header.parent != step.parent:
            raise StateCorruptionError(
                f"{step.path} in {storage.location} was changed while it was read: it follows "
                f"{file.header.parent} now, not {step.parent}"
            )
        _apply_in_parts(store, file.entries, step.path)
        fetched += file.entries.size
    return fetched


def _apply_in_parts(store: StateStore, entries: SortedEntries, tag: str) -> None:
    """Bounds the size of a transaction. Tags in between name no state: a crash there means to rebuild."""
    last = max(0, len(entries) - 1) // _ENTRIES_PER_TRANSACTION
    for part in range(last + 1):
        start = part * _ENTRIES_PER_TRANSACTION
        part_tag = tag if part == last else f"{tag}~{part}"
        store.apply(entries[start : start + _ENTRIES_PER_TRANSACTION], part_tag)
