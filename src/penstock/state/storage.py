"""The checkpoint directory: everything durable, as files that are written once and never changed."""

from __future__ import annotations

import errno
import os
import urllib.parse
import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from penstock.common.errors import (
    CheckpointError,
    CheckpointUnavailableError,
    FencedError,
    StateCorruptionError,
    UnsupportedError,
)

_TEMPORARY_PREFIX = ".tmp-"
_FULL = (errno.ENOSPC, errno.EDQUOT)


def content_hash(content: bytes) -> str:
    """The end of a staged file's name: blake2b of its content, as 32 hexadecimal digits."""
    return blake2b(content, digest_size=16).hexdigest()


class CheckpointStorage(ABC):
    """Files under one root, named by relative paths with `/`. Instances are pickled to the tasks."""

    @property
    @abstractmethod
    def location(self) -> str:
        """The root, as messages show it."""

    @abstractmethod
    def write_staged(self, prefix: str, content: bytes) -> str:
        """Writes the file `<prefix>-<content hash>`, durable when this returns; returns its path.

        Writing the same content again is fine: the file is the same.
        """

    @abstractmethod
    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Writes a file unless it exists, in one durable step; False when it exists, whatever it holds."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The content of a file. Raises `StateCorruptionError` when it is missing."""

    @abstractmethod
    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of a file; fewer bytes than asked for when the file ends before."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of this name."""

    @abstractmethod
    def list(self, directory: str) -> list[str]:
        """The paths of what is in a directory, sorted; unfinished writes are not shown. Empty when there is none."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Removes a file; nothing happens when it is not there."""

    @abstractmethod
    def remove_unfinished(self) -> None:
        """Removes what writers that died left half-written."""

    @abstractmethod
    def resolve(self, path: str) -> Path:
        """The file as other libraries open it. Raises `CheckpointError` for a path that leaves the root."""

    def read_verified(self, path: str) -> bytes:
        """The content of a staged file, checked against the hash in its name."""
        content = self.read(path)
        actual = content_hash(content)
        if actual != path.rpartition("-")[2]:
            raise StateCorruptionError(
                f"the file {path} in {self.location} is damaged: its content has the hash {actual}, which is "
                "not in its name. Restore it from a copy, or start from an older savepoint."
            )
        return content


class LocalCheckpointStorage(CheckpointStorage):
    """A directory on a file system that all processes of the job see: a local disk, NFS, a mounted volume."""

    def __init__(self, root: str) -> None:
        self._root = Path(root).absolute()

    def __reduce__(self) -> tuple[type[LocalCheckpointStorage], tuple[str]]:
        return type(self), (str(self._root),)

    def __repr__(self) -> str:
        return f"LocalCheckpointStorage({str(self._root)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalCheckpointStorage) and other._root == self._root

    def __hash__(self) -> int:
        return hash(self._root)

    @property
    def location(self) -> str:
        """The root, as messages show it."""
        return str(self._root)

    def resolve(self, path: str) -> Path:
        """The file's absolute path."""
        parts = PurePosixPath(path).parts
        if ".." in parts or (parts and parts[0] == "/"):
            raise CheckpointError(f"the path {path!r} leaves the checkpoint directory {self.location}")
        return self._root.joinpath(*parts)

    def write_staged(self, prefix: str, content: bytes) -> str:
        """Writes the file `<prefix>-<content hash>`, durable when this returns; returns its path."""
        path = f"{prefix}-{content_hash(content)}"
        target = self.resolve(path)
        with self._explained("write", path):
            if target.exists() and target.stat().st_size == len(content):
                # The writer of that file may have died before its directory entry was durable.
                _sync_directory(target.parent)
                return path
            with self._temporary(target.parent, content) as temporary, _unless_taken_over(self.location):
                temporary.replace(target)
            _sync_directory(target.parent)
        return path

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Writes a file unless it exists, in one durable step."""
        target = self.resolve(path)
        with self._explained("write", path), self._temporary(target.parent, content) as temporary:
            try:
                with _unless_taken_over(self.location):
                    os.link(temporary, target)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                    raise CheckpointError(
                        f"the file system of {self.location} cannot create hard links ({error.strerror}), "
                        "so two drivers could both believe that they own the job. Choose another directory."
                    ) from error
                raise
            _sync_directory(target.parent)
            return True

    def read(self, path: str) -> bytes:
        """The content of a file."""
        with self._explained("read", path):
            return self.resolve(path).read_bytes()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of a file."""
        with self._explained("read", path), self.resolve(path).open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of this name."""
        return self.resolve(path).exists()

    def list(self, directory: str) -> list[str]:
        """The paths of what is in a directory, sorted."""
        with self._explained("list", directory), suppress(FileNotFoundError):
            entries = list(self.resolve(directory).iterdir())
            return sorted(self._relative(e) for e in entries if not e.name.startswith(_TEMPORARY_PREFIX))
        return []

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def delete(self, path: str) -> None:
        """Removes a file."""
        with self._explained("delete", path):
            self.resolve(path).unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Removes what writers that died left half-written."""
        with self._explained("clean", ""):
            for path in self._root.rglob(f"{_TEMPORARY_PREFIX}*"):
                path.unlink(missing_ok=True)

    @contextmanager
    def _temporary(self, directory: Path, content: bytes) -> Generator[Path]:
        """A new file in `directory` with this content, on disk; gone afterwards unless it was renamed."""
        _make_durable_directory(directory, self._root)
        temporary = directory / f"{_TEMPORARY_PREFIX}{uuid.uuid4().hex}"
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield temporary
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    @contextmanager
    def _explained(self, action: str, path: str) -> Generator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise StateCorruptionError(
                f"the file {path} is missing in {self.location}: it was removed, or this is not the "
                "directory that the job wrote to. Restore it from a copy, or start from an older savepoint."
            ) from error
        except OSError as error:
            if error.errno in _FULL:
                raise CheckpointUnavailableError(
                    f"cannot write {path}: the disk of the checkpoint directory {self.location} is full. "
                    "Free space there and start the job again; nothing that was committed is lost."
                ) from error
            raise CheckpointUnavailableError(f"cannot {action} {path} in {self.location}: {error}") from error


@contextmanager
def _unless_taken_over(location: str) -> Generator[None]:
    """A driver that takes over removes unfinished writes, those of the driver before it among them."""
    try:
        yield
    except FileNotFoundError as error:
        raise FencedError(
            f"a file that was being written to {location} has been removed: another driver has taken over the job. "
            "This one stops; nothing of its last epoch was published."
        ) from error


_durable_directories: set[Path] = set()


def _make_durable_directory(directory: Path, root: Path) -> None:
    """Makes a directory whose name survives a power failure, and those above it.

    A directory that is there already may have been made by a process that died before it was durable: so each
    process syncs every directory's parent once, whoever made it.
    """
    exists = directory.is_dir()
    if exists and directory in _durable_directories:
        return
    if directory == root:
        _make_root(directory)
    else:
        _make_durable_directory(directory.parent, root)
        directory.mkdir(exist_ok=True)
    _sync_directory(directory.parent)
    if len(_durable_directories) > 10_000:
        _durable_directories.clear()
    _durable_directories.add(directory)


def _make_root(root: Path) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in _FULL:
            raise
        raise CheckpointUnavailableError(
            f"the checkpoint directory {root} cannot be made: {error.strerror} ({error.filename}). Give a directory "
            "(execution.checkpointing.dir) that this program may write to."
        ) from None


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_storage(uri: str) -> CheckpointStorage:
    """The storage at a path or a `file://` URI."""
    scheme, separator, _ = uri.partition("://")
    if separator and scheme != "file":
        raise UnsupportedError(
            f"checkpoints in {scheme}:// are not supported ({uri}). Give a path or a file:// URI on a file "
            "system that the driver and all workers see."
        )
    if not separator:
        return _local_storage(uri)
    parsed = urllib.parse.urlsplit(uri)
    if parsed.netloc not in ("", "localhost"):
        raise UnsupportedError(f"{uri} names the host {parsed.netloc!r}: a file:// URI has three slashes, file:///path")
    return _local_storage(urllib.parse.unquote(parsed.path))


def _local_storage(path: str) -> CheckpointStorage:
    storage = LocalCheckpointStorage(path)
    if Path(storage.location).is_file():
        raise CheckpointUnavailableError(
            f"the checkpoint directory {storage.location} is a file. Give a directory (execution.checkpointing.dir)."
        )
    return storage
