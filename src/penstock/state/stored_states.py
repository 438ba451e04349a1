"""Reads a whole state from its files, on whatever machine: for savepoints, and for jobs with another plan."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.state_file_format import read_header
from penstock.state.state_files import bring_to
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore

IN_MEMORY_BYTES = 64 << 20
"""A state of so many bytes of files or more is put together on the local disk."""


def stored_bytes(storage: CheckpointStorage, head: str) -> int:
    """About how many bytes of files a state is made of."""
    header = read_header(storage, head)
    return header.snapshot_bytes + header.delta_bytes


@contextmanager
def opened_state(storage: CheckpointStorage, head: str) -> Generator[StateStore]:
    """A store that holds the state that `head` names, for as long as it is read."""
    if stored_bytes(storage, head) < IN_MEMORY_BYTES:
        in_memory = MemoryStore()
        bring_to(in_memory, head, storage)
        yield in_memory
        return
    directory = tempfile.mkdtemp(prefix="penstock-state-")
    try:
        on_disk = LmdbStore(directory)
        try:
            bring_to(on_disk, head, storage)
            yield on_disk
        finally:
            on_disk.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
