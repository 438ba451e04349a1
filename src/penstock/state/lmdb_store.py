"""A store on the local disk: LMDB, memory-mapped, shared by the worker processes of an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import lmdb

from penstock.common.errors import LocalStoreDamagedError, PenstockError
from penstock.state.lmdb_environment import DAMAGE, Environment, acquire, release
from penstock.state.lmdb_view import LmdbView
from penstock.state.overlay import Overlay, merge
from penstock.state.sorted_entries import SortedEntries
from penstock.state.store import Entry, StoreChangedError

_PREFIX_BYTES = 480
"""Keys of this length or more are stored under this much of them and a digest, the whole key in the value."""
_TAG_KEY = b"tag"
_AFTER_ALL_KEYS = b"\xff" * 64
_FIRST_PART = 4
_LARGEST_PART = 1024
_NOT_CHANGED = object()
_NOT_SEEN = object()
_key_of = itemgetter(0)


class LmdbStore:
    """`StateStore` in a local directory.

    It is a cache of what the checkpoint holds, never the truth: a file that is damaged, foreign or from
    before a restart of the machine is replaced by an empty one, whose tag is None. Many processes may have
    the directory open; each sees the state that it has read the tag of.
    """

    def __init__(self, path: str | Path, *, map_size: int = 1 << 30) -> None:
        self._directory = Path(path)
        self._map_size = map_size
        self._overlay = Overlay()
        self._changes = self._overlay.entries
        self._environment: Environment | None = None
        self._snapshot: Any = None
        self._read: Callable[[bytes], bytes | None] = self._pin_and_read
        self._seen_tag: object = _NOT_SEEN
        self._open()

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        value = self._changes.get(key, _NOT_CHANGED)
        if value is not _NOT_CHANGED:
            return value  # type: ignore[return-value]
        try:
            if len(key) < _PREFIX_BYTES:
                return self._read(key)
            stored = self._read(_physical_key(key))
        except lmdb.Error as error:
            raise self._explained(error) from error
        return None if stored is None else _split_long(stored)[1]

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key, or None."""
        changes = self._changes
        unchanged = [key for key in keys if key not in changes]
        if any(len(key) >= _PREFIX_BYTES for key in unchanged):
            return list(map(self.get, keys))
        try:
            if self._snapshot is None:
                self._pin()
            snapshot: Any = self._snapshot
            # Neighbours in the file are read one after the other.
            committed = dict(snapshot.cursor().getmulti(sorted(unchanged)))
        except lmdb.Error as error:
            raise self._explained(error) from error
        return [changes[key] if key in changes else committed.get(key) for key in keys]

    def put(self, key: bytes, value: bytes) -> None:
        """Sets a value in the epoch under way."""
        self._changes[key] = value

    def delete(self, key: bytes) -> None:
        """Removes a key in the epoch under way."""
        self._changes[key] = None

    def put_all(self, entries: Iterable[Entry]) -> None:
        """Sets and deletes many values in the epoch under way."""
        self._changes.update(entries)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The entries with start <= key < end in ascending order."""
        return merge(self._scan_committed(start, end), self._overlay.between(start, end))

    def committed_lengths(self, keys: Sequence[bytes]) -> list[int]:
        """How long the committed value of each key is; -1: there is none."""
        changes, self._changes = self._changes, {}
        try:
            return [-1 if value is None else len(value) for value in map(self.get, keys)]
        finally:
            self._changes = changes
            self.release()

    def changes(self) -> SortedEntries:
        """What the epoch under way changed, sorted by key."""
        # The epoch is over: an idle process must not keep old pages of the file from being used again.
        self.release()
        return self._overlay.sorted_entries()

    def discard_changes(self) -> None:
        """Forgets what the epoch under way changed."""
        self._overlay.clear()
        self._changes = self._overlay.entries

    @property
    def tag(self) -> str | None:
        """Which state the committed entries are, as of now; reads that follow see that state."""
        self.release()
        self._seen_tag = _NOT_SEEN
        try:
            self._pin()
        except lmdb.Error as error:
            raise self._explained(error) from error
        return self._seen_tag  # type: ignore[return-value]

    def apply(self, entries: Iterable[Entry], tag: str) -> None:
        """Makes entries part of the committed ones, and sets the tag, in one transaction."""
        entries = entries if isinstance(entries, Sequence) else list(entries)
        self._write(lambda transaction, environment: self._apply(transaction, environment, entries, tag))
        self._seen_tag = tag

    def view(self, tag: str) -> LmdbView:
        """The committed entries as of now, for another thread to read; raises `StoreChangedError` for another tag."""
        try:
            environment = self._open()
            transaction = environment.begin()
            found = _tag_in(transaction, environment)
        except lmdb.Error as error:
            raise self._explained(error) from error
        if found != tag:
            transaction.abort()
            raise StoreChangedError(_changed(self._directory, tag, found))
        view = LmdbView(transaction, lambda cursor: _in_key_order(cursor, b"", _AFTER_ALL_KEYS))
        environment.readers.add(view)
        return view

    def wipe(self) -> None:
        """Removes everything, the tag too."""
        self.discard_changes()
        self._write(self._drop)
        self._seen_tag = None

    def close(self) -> None:
        """Lets go of the file."""
        self.release()
        if self._environment is not None:
            self._environment.readers.discard(self)
            release(self._environment)
        self._environment = None

    def release(self) -> None:
        """Ends the read transaction; the next read begins a new one."""
        if self._snapshot is not None:
            self._snapshot.abort()
        self._snapshot = None
        self._read = self._pin_and_read

    def abandon(self) -> object:
        """Called in a forked child: forgets what belongs to the parent, and returns it to be kept alive."""
        parents = (self._environment, self._snapshot, self._read)
        self._environment = self._snapshot = None
        self._read = self._pin_and_read
        return parents

    def _open(self) -> Environment:
        if self._environment is None:
            self._environment = acquire(self._directory, self._map_size)
            self._environment.readers.add(self)
        return self._environment

    def _pin(self) -> None:
        environment = self._open()
        self._snapshot = environment.begin()
        tag = _tag_in(self._snapshot, environment)
        if self._seen_tag is _NOT_SEEN:
            self._seen_tag = tag
        elif self._seen_tag != tag:
            self.release()
            raise StoreChangedError(_changed(self._directory, self._seen_tag, tag))
        self._read = self._snapshot.get

    def _pin_and_read(self, key: bytes) -> bytes | None:
        self._pin()
        return self._read(key)

    def _scan_committed(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        try:
            if self._snapshot is None:
                self._pin()
            snapshot: Any = self._snapshot
            yield from _in_key_order(snapshot.cursor(), start, end)
        except lmdb.Error as error:
            raise self._explained(error) from error

    def _write(self, change: Callable[[Any, Environment], None]) -> None:
        self.release()
        try:
            environment = self._open()
            while True:
                try:
                    with environment.begin(write=True) as transaction:
                        change(transaction, environment)
                    break
                except lmdb.MapFullError:
                    environment.grow()
            environment.after_write()
        except (lmdb.Error, OSError) as error:
            raise self._explained(error) from error

    def _apply(self, transaction: Any, environment: Environment, entries: Iterable[Entry], tag: str) -> None:
        current = _tag_in(transaction, environment)
        if current == tag:
            # Another process was faster: an attempt of the same task, for instance.
            return
        if self._seen_tag is not _NOT_SEEN and current != self._seen_tag:
            raise StoreChangedError(_changed(self._directory, self._seen_tag, current))
        deleted: list[bytes] = []
        transaction.cursor().putmulti(_physical_entries(entries, deleted))
        for key in deleted:
            transaction.delete(key)
        transaction.put(_TAG_KEY, tag.encode(), db=environment.meta)

    def _drop(self, transaction: Any, environment: Environment) -> None:
        transaction.drop(environment.entries, delete=False)
        transaction.drop(environment.meta, delete=False)

    def _explained(self, error: Exception) -> PenstockError:
        environment = self._open()
        if not isinstance(error, DAMAGE):
            return environment.explained(error)
        self._seen_tag = _NOT_SEEN
        environment.replace()
        return LocalStoreDamagedError(
            f"the local store {self._directory} was damaged ({error}). It has been emptied and will be "
            "rebuilt from the checkpoint when the task runs again."
        )


def _tag_in(transaction: Any, environment: Environment) -> str | None:
    tag = transaction.get(_TAG_KEY, db=environment.meta)
    return None if tag is None else tag.decode()


def _changed(directory: Path, seen: object, found: str | None) -> str:
    return f"another process has changed the local store {directory}: it was at {seen}, it is at {found}"


def _physical_entries(entries: Iterable[Entry], deleted: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """What to put, as it is stored; the stored keys of what is to go are added to `deleted`."""
    for entry in entries:
        key, value = entry
        if value is None:
            deleted.append(_physical_key(key))
        elif len(key) < _PREFIX_BYTES:
            yield entry  # pyright: ignore[reportReturnType]
        else:
            yield _physical_key(key), _join_long(key, value)


def _physical_key(key: bytes) -> bytes:
    if len(key) < _PREFIX_BYTES:
        return key
    return key[:_PREFIX_BYTES] + blake2b(key, digest_size=16).digest()


def _join_long(key: bytes, value: bytes) -> bytes:
    return len(key).to_bytes(4, "big") + key + value


def _split_long(stored: bytes) -> tuple[bytes, bytes]:
    end = 4 + int.from_bytes(stored[:4], "big")
    return stored[4:end], stored[end:]


def _in_key_order(cursor: Any, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Entries by their whole keys. Long keys that share a stored prefix lie together, ordered by digest."""
    first = start[:_PREFIX_BYTES]
    if not (cursor.set_range(first) if first else cursor.first()):
        return
    run: list[tuple[bytes, bytes]] = []
    run_prefix = b""
    entries = iter(cursor)
    # Stores of short keys are read by the thousand; the rest, entry by entry. What belongs to one key is a few entries:
    # nothing much is to be read behind them.
    size = _FIRST_PART
    while part := list(islice(entries, size)):
        size = min(2 * size, _LARGEST_PART)
        if not (start <= part[0][0] and part[-1][0] < end and max(map(len, map(_key_of, part))) < _PREFIX_BYTES):
            entries = chain(part, entries)
            break
        yield from part
    for key, value in entries:
        prefix = key[:_PREFIX_BYTES]
        if run and prefix != run_prefix:
            yield from sorted(run)
            run = []
        if prefix >= end:
            break
        if len(key) < _PREFIX_BYTES:
            if key >= start:
                yield key, value
        else:
            run_prefix = prefix
            entry = _split_long(value)
            if start <= entry[0] < end:
                run.append(entry)
    yield from sorted(run)
