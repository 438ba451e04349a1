"""Snapshots of a subtask's state that are made beside its epochs, by a thread of a worker process.

Worker processes outlive the tasks that they run, and so do their threads. The thread reads the local store as of one
state, whatever epochs change there meanwhile, and writes the snapshot's files. When all are written it says so in the
local directory, where the next task of the subtask on this machine finds it, in whatever process: the delta of that
task's epoch names the snapshot as its base.

A snapshot counts for nothing until then. If its process is killed, the store is rebuilt or the subtask moves, then its
files are left over, and deltas go on until another snapshot is made.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from penstock.common.errors import PenstockError
from penstock.common.logs import about_the_same
from penstock.state.lmdb_store import LmdbStore
from penstock.state.lmdb_view import LmdbView
from penstock.state.snapshots import SNAPSHOT_MARK, snapshot_of, write_snapshot
from penstock.state.state_file_format import read_header
from penstock.state.state_files import Snapshot, can_be_base, should_snapshot
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore, StoreChangedError

_log = logging.getLogger(__name__)

LONGEST_WAIT = 500
"""For how many epochs a snapshot that has been begun may still become a base. Its files are kept for twice as long."""
_OVERDUE = 3
"""So many times the deltas after which a snapshot is due, and it is made at once: chains are bounded."""
_LOCK, _READY = "snapshot.lock", "snapshot.json"
_EPOCH = re.compile(r"state/\d+/(\d+)-")


class Snapshots(Protocol):
    """How a subtask's snapshots are made."""

    def begin(self, store: StateStore, storage: CheckpointStorage, head: str, prefix: str) -> None:
        """Begins one of the state that the store is at, where it is due; the store has no changes."""
        ...

    def take(self, storage: CheckpointStorage, parent: str | None, epoch: int) -> Snapshot | None:
        """One that is complete and can be the base of a delta upon `parent`."""
        ...

    @property
    def is_pending(self) -> bool:
        """Whether one is being made, or is complete and waits to be taken."""
        ...


class InlineSnapshots:
    """Made at once, by the task itself: for stores in memory."""

    def __init__(self) -> None:
        self._ready: Snapshot | None = None

    def begin(self, store: StateStore, storage: CheckpointStorage, head: str, prefix: str) -> None:
        """Makes one where it is due."""
        if should_snapshot(read_header(storage, head)) and (self._ready is None or self._ready.of != head):
            self._ready = snapshot_of(storage, store, head, prefix)

    def take(self, storage: CheckpointStorage, parent: str | None, epoch: int) -> Snapshot | None:
        """The last one, if it is of a state that `parent` goes back to."""
        ready, self._ready = self._ready, None
        return ready if ready is not None and _fits(storage, ready, parent, epoch) else None

    @property
    def is_pending(self) -> bool:
        """Whether there is one that no delta has taken."""
        return self._ready is not None


class BackgroundSnapshots:
    """Made by a thread, from a local store in this directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._inline = InlineSnapshots()

    def begin(self, store: StateStore, storage: CheckpointStorage, head: str, prefix: str) -> None:
        """Begins one where it is due and none is being made on this machine."""
        header = read_header(storage, head)
        if not should_snapshot(header):
            return
        if should_snapshot(header, times=_OVERDUE):
            _log.warning("the snapshot of %s did not come in time and is made at once", head)
            self._inline.begin(store, storage, head, prefix)
            return
        if (self._directory / _READY).exists() or not isinstance(store, LmdbStore):
            return
        lock = self._try_lock()
        if lock is None:
            return
        try:
            view = store.view(head)
        except StoreChangedError:
            _unlock(lock)
            return
        except BaseException:
            _unlock(lock)
            raise
        name = f"penstock-snapshot-{prefix.rpartition('/')[2]}"
        make, arguments = about_the_same(self._make), (view, storage, head, prefix, lock)
        threading.Thread(target=make, args=arguments, name=name, daemon=True).start()

    def take(self, storage: CheckpointStorage, parent: str | None, epoch: int) -> Snapshot | None:
        """The last one that any process of this machine has made, if it is of a state that `parent` goes back to."""
        made_here = self._inline.take(storage, parent, epoch)
        if made_here is not None:
            return made_here
        path = self._directory / _READY
        try:
            ready = Snapshot(**json.loads(path.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            path.unlink(missing_ok=True)
            return None
        if _fits(storage, ready, parent, epoch):
            return ready
        # It is a base by now, or will never be one.
        path.unlink(missing_ok=True)
        return None

    @property
    def is_pending(self) -> bool:
        """Whether one is being made in any process of this machine, or is complete."""
        if self._inline.is_pending or (self._directory / _READY).exists():
            return True
        lock = self._try_lock()
        if lock is None:
            return True
        _unlock(lock)
        return False

    def _try_lock(self) -> int | None:
        """Held until the descriptor is closed, at the latest by the end of the process."""
        with suppress(OSError):
            descriptor = os.open(self._directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except OSError:
                os.close(descriptor)
        return None

    def _make(self, view: LmdbView, storage: CheckpointStorage, head: str, prefix: str, lock: int) -> None:
        try:
            snapshot = write_snapshot(storage, view, head, prefix)
            ready = self._directory / f"{_READY}.{os.getpid()}"
            ready.write_text(json.dumps({"path": snapshot.path, "of": snapshot.of}))
            ready.replace(self._directory / _READY)
        except (PenstockError, OSError) as error:
            # Nothing depends on it: there will be another.
            _log.info("the snapshot of %s is given up: %s", head, error)
        finally:
            view.release()
            _unlock(lock)


def _unlock(lock: int) -> None:
    # Closing would not do it where user code has forked meanwhile: a child has the same lock.
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def _fits(storage: CheckpointStorage, snapshot: Snapshot, parent: str | None, epoch: int) -> bool:
    """Whether a snapshot is of a state that `parent` goes back to, is newer than its base, and will not be removed."""
    if parent is None or epoch - begun_in(snapshot.path) > LONGEST_WAIT:
        return False
    base = read_header(storage, parent).base
    if base is not None and begun_in(base) >= begun_in(snapshot.path):
        return False
    is_there = storage.exists(snapshot.path) and storage.exists(snapshot.of)
    return is_there and can_be_base(storage, snapshot, parent)


def begun_in(path: str) -> int:
    """The epoch in which a snapshot was begun, by the name of a file of it; -1 for other files."""
    match = _EPOCH.match(path) if SNAPSHOT_MARK in path else None
    return -1 if match is None else int(match[1])
