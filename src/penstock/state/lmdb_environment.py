"""Open LMDB files: one per path and process, safe against forks, foreign files, reboots and full disks.

The file's name contains the id of the machine's boot. Nothing is synced to disk, so what an earlier boot left
may be torn anywhere, and LMDB can crash on such a file: it is removed without being opened.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import sys
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from subprocess import run
from typing import Any, Protocol
from weakref import WeakSet

import lmdb

from penstock.common.errors import LocalStoreFullError, PenstockError, StateError

_log = logging.getLogger(__name__)

DAMAGE = (
    lmdb.BadDbiError,
    lmdb.CorruptedError,
    lmdb.IncompatibleError,
    lmdb.InvalidError,
    lmdb.NotFoundError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
    lmdb.VersionMismatchError,
)
"""What LMDB raises on files that it did not write, or that were changed behind its back."""

_NEEDED_FREE_BYTES = 1 << 20
_MAX_READERS = 512


@cache
def boot_id() -> str:
    """Names the time since the machine started; a new one in every process where the system does not say."""
    if sys.platform == "linux":
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    return uuid.uuid4().hex


class Reader(Protocol):
    """A user of an environment that keeps a read transaction."""

    def release(self) -> None:
        """Ends the transaction; a new one begins when the reader reads again."""
        ...

    def abandon(self) -> object:
        """Forgets the environment without touching it; returns what must be kept alive."""
        ...


class Environment:
    """One LMDB file, opened; `acquire` and `release` count its users in this process."""

    def __init__(self, directory: Path, map_size: int) -> None:
        self.directory = directory
        self.readers: WeakSet[Reader] = WeakSet()
        self.users = 0
        self._initial_map_size = map_size
        self._file = directory / f"{boot_id()}.mdb"
        try:
            with self._exclusive():
                self._remove_files_of_other_boots()
                self._open_or_replace()
        except (lmdb.Error, OSError) as error:
            raise self.explained(error) from error

    def begin(self, *, write: bool = False) -> Any:
        """A transaction on the entries."""
        while True:
            try:
                return self._lmdb.begin(db=self.entries, write=write)
            except lmdb.MapResizedError:
                self.adopt_map_size()
            except lmdb.ReadersFullError:
                if not self._lmdb.reader_check():
                    raise

    def grow(self) -> None:
        """Doubles the map."""
        size = 2 * int(self._lmdb.info()["map_size"])
        _log.info("the local store %s grows to %d MiB", self._file, size >> 20)
        self._set_map_size(size)

    def adopt_map_size(self) -> None:
        """Takes the size that another process has given to the file."""
        self._set_map_size(0)

    def replace(self) -> None:
        """Starts over with an empty file. Other processes keep the old one until they open again."""
        self._release_readers()
        self._lmdb.close()
        with self._exclusive():
            self._remove(self._file)
            self._open()

    def after_write(self) -> None:
        """Housekeeping after a commit."""
        self._lmdb.reader_check()
        if sys.platform == "linux":
            # LMDB does not write pages that were allocated and freed in one transaction. Made as long as its
            # header says, a file that is found shorter is known to be torn.
            needed = self._bytes_in_use()
            # The end of a job removes the file under a worker that stays: what is mapped goes on working as a cache.
            with suppress(FileNotFoundError), self._file.open("rb+") as file:
                if os.fstat(file.fileno()).st_size < needed:
                    os.posix_fallocate(file.fileno(), needed - 1, 1)

    def close(self) -> None:
        """Closes the file."""
        self._release_readers()
        self._lmdb.close()

    def explained(self, error: Exception) -> PenstockError:
        """An error of LMDB or the file system in words."""
        if self._means_full(error):
            return LocalStoreFullError(
                f"the local disk that holds {self.directory} is full. Free space there, or give the workers "
                "another local directory; the checkpoint is whole, and the job continues from it."
            )
        if isinstance(error, lmdb.MapFullError | lmdb.MemoryError):
            return LocalStoreFullError(
                f"the local store {self.directory} cannot grow: the system gives the process no larger "
                "address space (see ulimit -v). Raise the limit, or use a higher parallelism."
            )
        return StateError(f"the local store {self.directory} cannot be used: {error}")

    def _means_full(self, error: Exception) -> bool:
        if isinstance(error, lmdb.DiskError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            return True
        # Where a part of a write still fits, LMDB reports an input/output error.
        return isinstance(error, lmdb.Error) and "Input/output" in str(error) and not self._has_free_space()

    def _set_map_size(self, size: int) -> None:
        # LMDB moves the map, which no transaction of this process survives.
        self._release_readers()
        try:
            self._lmdb.set_mapsize(size)
        except (lmdb.Error, OverflowError) as error:
            raise self.explained(lmdb.MemoryError(str(error))) from error

    def _release_readers(self) -> None:
        for reader in self.readers:
            reader.release()

    def _open_or_replace(self) -> None:
        try:
            self._open()
        except DAMAGE as error:
            _log.warning("the local store %s is damaged or foreign (%s): it is rebuilt", self._file, error)
            self._remove(self._file)
            self._open()

    def _open(self) -> None:
        if not self._has_free_space():
            # LMDB's lock file is a writable map: on a full disk it is a SIGBUS.
            raise self.explained(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        self._lmdb: Any = lmdb.open(
            str(self._file),
            subdir=False,
            map_size=self._initial_map_size,
            max_dbs=2,
            max_readers=_MAX_READERS,
            sync=False,
            metasync=False,
            # With a writable map a full disk is a SIGBUS; without, an error. Measured, both are equally fast.
            writemap=False,
        )
        try:
            if self._file.stat().st_size < self._bytes_in_use():
                raise lmdb.CorruptedError("the file is shorter than its header says")
            self.entries = self._lmdb.open_db(b"entries")
            self.meta = self._lmdb.open_db(b"meta")
        except BaseException:
            self._lmdb.close()
            raise
        self._lmdb.reader_check()

    def _bytes_in_use(self) -> int:
        return (int(self._lmdb.info()["last_pgno"]) + 1) * int(self._lmdb.stat()["psize"])

    def _has_free_space(self) -> bool:
        disk = os.statvfs(self.directory)
        return disk.f_bavail * disk.f_frsize >= _NEEDED_FREE_BYTES

    def _remove_files_of_other_boots(self) -> None:
        for file in self.directory.glob("*.mdb"):
            if file != self._file:
                _log.info("the local store %s is from before a restart of the machine: it is rebuilt", file)
                self._remove(file)

    def _remove(self, file: Path) -> None:
        file.unlink(missing_ok=True)
        file.with_name(f"{file.name}-lock").unlink(missing_ok=True)

    @contextmanager
    def _exclusive(self) -> Generator[None]:
        """Keeps other processes from opening the file while it may be replaced."""
        self.directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.directory / "opening.lock", os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


_lock = threading.Lock()
_open_environments: dict[Path, Environment] = {}
_inherited: dict[Path, list[object]] = {}


def acquire(directory: Path, map_size: int) -> Environment:
    """The environment of a directory, opened unless this process has it open."""
    directory = directory.absolute()
    if directory in _inherited:
        raise StateError(
            f"the local store {directory} was open when this process was forked, and cannot be used on both sides. "
            "Start processes that use state before the store is opened, or by other means than fork."
        )
    with _lock:
        environment = _open_environments.get(directory)
        if environment is None:
            environment = _open_environments[directory] = Environment(directory, map_size)
        environment.users += 1
        return environment


def release(environment: Environment) -> None:
    """Gives an environment back; the last user closes it."""
    with _lock:
        environment.users -= 1
        if environment.users == 0:
            _open_environments.pop(environment.directory, None)
            environment.close()


def _forget_after_fork() -> None:
    """LMDB forbids a child to touch, or even close, what its parent opened: keep it unused until the end."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    for directory, environment in _open_environments.items():
        _inherited[directory] = [environment, *(reader.abandon() for reader in environment.readers)]
    _open_environments.clear()


os.register_at_fork(after_in_child=_forget_after_fork)
