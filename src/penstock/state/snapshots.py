"""Writes snapshots: all entries of a state, in files of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from penstock.common.fail_points import reach
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_file_format import StateFileHeader, read_header, write_state_file
from penstock.state.state_files import Snapshot
from penstock.state.state_sizes import added_sizes, sizes_in
from penstock.state.storage import CheckpointStorage
from penstock.state.store import Entry, StateStore

PIECE_BYTES = 32 << 20
"""The keys and values in one file of a snapshot."""
_ENTRIES_AT_ONCE = 20_000
_AFTER_ALL_KEYS = b"\xff" * 64
SNAPSHOT_MARK = "-snapshot-"
"""What is in the names of all files of snapshots, and of no others."""


def snapshot_of(storage: CheckpointStorage, store: StateStore, head: str, prefix: str) -> Snapshot:
    """Writes all committed entries of a store that is at `head` and has no changes."""
    return write_snapshot(storage, store.scan(b"", _AFTER_ALL_KEYS), head, prefix)


def write_snapshot(storage: CheckpointStorage, entries: Iterable[Entry], head: str, prefix: str) -> Snapshot:
    """Writes entries, sorted by key, which are the whole of the state that `head` names."""
    replaced = read_header(storage, head)
    prefix = f"{prefix}{SNAPSHOT_MARK.rstrip('-')}"
    path = write_state(storage, prefix, in_parts(entries), (replaced.incarnation, replaced.epoch))
    reach("snapshot.written")
    return Snapshot(path, head)


def write_state(
    storage: CheckpointStorage,
    prefix: str,
    parts: Iterable[SortedEntries],
    epoch: tuple[int, int],
    pieces: Iterable[str] = (),
) -> str:
    """Writes a state that hangs on no other: these entries, and those of pieces that are there; returns its name.

    All parts but the last become pieces, so that neither writers nor readers need memory for more than one.
    """
    paths = list(pieces)
    headers = [read_header(storage, path) for path in paths]
    size = sum(header.snapshot_bytes for header in headers)
    sizes: dict[str, list[int]] = {}
    for header in headers:
        sizes = added_sizes(sizes, header.sizes)
    last = SortedEntries.joined([])
    for part in parts:
        if len(last):
            paths.append(write_piece(storage, prefix, last, epoch))
        last = part
        size += part.size
        sizes = added_sizes(sizes, sizes_in(part))
    header = StateFileHeader(
        kind="snapshot",
        parent=None,
        incarnation=epoch[0],
        epoch=epoch[1],
        entries=len(last),
        chain=0,
        delta_bytes=0,
        snapshot_bytes=size,
        sizes=sizes,
        pieces=tuple(paths),
    )
    return write_state_file(storage, prefix, header, last.encode())


def write_piece(storage: CheckpointStorage, prefix: str, entries: SortedEntries, epoch: tuple[int, int]) -> str:
    """Writes a part of the entries of a state; it counts once a snapshot names it."""
    header = StateFileHeader(
        kind="piece",
        parent=None,
        incarnation=epoch[0],
        epoch=epoch[1],
        entries=len(entries),
        chain=0,
        delta_bytes=0,
        snapshot_bytes=entries.size,
        sizes=sizes_in(entries),
    )
    path = write_state_file(storage, prefix, header, entries.encode())
    reach("snapshot.piece")
    return path


def in_parts(entries: Iterable[Entry]) -> Iterator[SortedEntries]:
    """Sorted entries, as much at once as goes into a file."""
    chunks: list[SortedEntries] = []
    size = 0
    remaining = iter(entries)
    while listed := list(islice(remaining, _ENTRIES_AT_ONCE)):
        chunks.append(SortedEntries.of_sorted(listed))
        size += chunks[-1].size
        if size >= PIECE_BYTES:
            yield SortedEntries.joined(chunks)
            chunks, size = [], 0
    if chunks:
        yield SortedEntries.joined(chunks)
