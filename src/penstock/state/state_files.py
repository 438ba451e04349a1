"""State files: what a subtask's state is, as a chain of files in the checkpoint directory.

A *delta* holds the entries that one epoch changed and names its parent, the state that was there before. The path of a
file, which ends in the hash of its content, names a state for ever: it is all that the manifest stores.

A *snapshot* (`snapshots.py`) holds all entries of a state. It is made beside the work on later epochs, and the delta
that is written next names it as its *base*, together with the state that it is of; deltas after that inherit the base.
Whoever rebuilds a state follows the parents down to that state, and takes the snapshot in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from penstock.common.errors import StateCorruptionError, StateError
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_file_format import (
    StateFileHeader,
    read_header,
    read_state_file,
    write_state_file,
)
from penstock.state.state_sizes import Sizes
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore, StoreChangedError

_MAX_CHAIN = 200
_MIN_SNAPSHOT_BYTES = 4 << 20
_DELTAS_PER_SNAPSHOT = 2
"""A snapshot is due when the deltas since the last are this many times its size: more would slow recovery down."""
_ENTRIES_PER_TRANSACTION = 200_000
_ATTEMPTS = 10
_LONGEST_ROUTE = 100_000


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that is complete, and no delta's base yet."""

    path: str
    of: str
    """The state that it stands for."""


def write_delta(
    storage: CheckpointStorage,
    prefix: str,
    entries: SortedEntries,
    parent: str | None,
    epoch: tuple[int, int],
    sizes: Sizes | None = None,
    base: Snapshot | None = None,
) -> str:
    """Writes the entries that an epoch changed, sorted by key; the path that it returns names the new state.

    `epoch` is (incarnation, number), `sizes` how large the state of each operator is with these changes, `base` a
    snapshot of `parent` or a state below it, where there is one that is newer than the base of `parent`.
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
        base=None if below is None else below.base,
        base_of=None if below is None else below.base_of,
    )
    if base is not None:
        replaced = read_header(storage, base.of)
        header = replace(
            header,
            chain=header.chain - replaced.chain,
            delta_bytes=header.delta_bytes - replaced.delta_bytes,
            snapshot_bytes=read_header(storage, base.path).snapshot_bytes,
            base=base.path,
            base_of=base.of,
        )
    return write_state_file(storage, prefix, header, body)


def should_snapshot(header: StateFileHeader, *, times: int = 1) -> bool:
    """Whether rebuilding this state reads so many deltas that a snapshot of it is due; `times`: or even overdue."""
    limit = max(_DELTAS_PER_SNAPSHOT * header.snapshot_bytes, _MIN_SNAPSHOT_BYTES)
    return header.delta_bytes > times * limit or header.chain > times * _MAX_CHAIN


def snapshot_follows(header: StateFileHeader | None, changed: int) -> bool:
    """Whether a snapshot is due after one more delta with so many bytes of keys and values."""
    if header is None:
        return changed > _MIN_SNAPSHOT_BYTES
    return should_snapshot(replace(header, delta_bytes=header.delta_bytes + changed, chain=header.chain + 1))


def can_be_base(storage: CheckpointStorage, snapshot: Snapshot, parent: str) -> bool:
    """Whether a snapshot can be the base of a delta upon `parent`: it is of a state between that and its base."""
    if read_header(storage, snapshot.of).base != read_header(storage, parent).base:
        # `parent` has got another base since: what the headers count, they count from there.
        return False
    return any(step.path == snapshot.of for step in _route(storage, parent, None))


def live_files(storage: CheckpointStorage, heads: Iterable[str]) -> set[str]:
    """All state files that are needed to rebuild the given states."""
    headers = cache(lambda path: read_header(storage, path))
    live: set[str] = set()
    seen: set[tuple[str, str | None]] = set()
    for head in heads:
        newest = headers(head)
        path: str | None = head
        # Another head may have come by here on its way to another base.
        while path is not None and (path, newest.base) not in seen:
            seen.add((path, newest.base))
            if path == newest.base_of:
                path = newest.base
                assert path is not None
            header = headers(path)
            live |= {path, *header.pieces}
            path = header.parent if header.kind == "delta" else None
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


def _route(storage: CheckpointStorage, head: str, tag: str | None) -> list[_Step]:
    """What to apply, oldest first: from the state that the store has, where that leads to `head`."""
    steps: list[_Step] = []
    newest = header = read_header(storage, head)
    path: str | None = head
    while path is not None and path != tag:
        if path == newest.base_of:
            path = newest.base
            assert path is not None
        if len(steps) > _LONGEST_ROUTE:
            raise StateCorruptionError(f"the files from {head} on in {storage.location} lead nowhere: they are damaged")
        header = header if path == head else read_header(storage, path)
        if header.kind == "delta":
            steps.append(_Step(path, header.parent))
            path = header.parent
        elif header.kind == "snapshot":
            steps.append(_Step(path, None))
            path = None
        else:
            raise StateCorruptionError(f"{path} in {storage.location} is a piece of a snapshot, and no state")
    return steps[::-1]


def _follow(store: StateStore, steps: list[_Step], storage: CheckpointStorage) -> int:
    fetched = 0
    if steps[0].parent is None:
        store.wipe()
    for step in steps:
        file = read_state_file(storage, step.path)
        if file.header.kind == "delta" and file.header.parent != step.parent:
            raise StateCorruptionError(
                f"{step.path} in {storage.location} was changed while it was read: it follows "
                f"{file.header.parent} now, not {step.parent}"
            )
        for number, path in enumerate(file.header.pieces):
            piece = read_state_file(storage, path)
            _apply_in_parts(store, piece.entries, f"{step.path}~piece-{number}")
            fetched += piece.entries.size
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
