"""Where files are: the local disk, or any system that pyarrow or fsspec has a name for."""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa
import pyarrow.fs

from penstock.common.errors import ConfigurationError

_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


class FileStatus(NamedTuple):
    """What tells whether a file has changed."""

    modified_ns: int
    size: int


class FileEntry(NamedTuple):
    """What is in a directory; a directory has no status."""

    path: str
    status: FileStatus | None


class FileSystem(ABC):
    """Files by their absolute paths."""

    @abstractmethod
    def absolute(self, path: str) -> str:
        """The path as it is handed around."""

    @abstractmethod
    def status(self, path: str) -> FileStatus | None:
        """The status of a file; None where there is none."""

    @abstractmethod
    def is_directory(self, path: str) -> bool:
        """Whether there is a directory of this name."""

    @abstractmethod
    def entries(self, directory: str) -> Iterator[FileEntry]:
        """What is in a directory, not below; nothing when it is gone."""

    @abstractmethod
    def open_input(self, path: str) -> BinaryIO:
        """A file for reading; raises OSError."""

    @abstractmethod
    def open_output(self, path: str) -> BinaryIO:
        """A new file, with the directories above it."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Gives a file another name; raises FileNotFoundError where it is not there."""

    def sync(self, file: BinaryIO) -> None:
        """Makes what was written to an open file durable; where that is done by closing it, nothing happens."""
        return

    def sync_names(self, directories: Iterable[str]) -> None:
        """Makes the names of files durable that were made in these directories."""
        return

    @abstractmethod
    def replace(self, path: str, content: bytes) -> None:
        """Writes a small file as a whole: readers see the old one or the new one."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Removes a file, if it is there."""

    @abstractmethod
    def remove_tree(self, directory: str) -> None:
        """Removes a directory and all that is in it, as far as that is possible."""

    def read(self, path: str) -> bytes | None:
        """The content of a small file; None where there is none."""
        try:
            with self.open_input(path) as file:
                return file.read()
        except FileNotFoundError:
            return None


def file_system_of(path: str) -> FileSystem:
    """The file system of a path or URI: without a scheme, and for `file:`, the local one."""
    scheme, separator, _ = path.partition("://")
    if not separator or scheme == "file":
        return _LOCAL
    return _arrow_file_system(scheme, path.partition("://")[2].partition("/")[0])


def directory_of(path: str) -> str:
    """The directory that a path is in."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


class LocalFileSystem(FileSystem):
    """Disks of this machine, and what is mounted."""

    def absolute(self, path: str) -> str:
        """Without a scheme."""
        return str(Path(local_path(path)).absolute())

    def status(self, path: str) -> FileStatus | None:
        """Of regular files only."""
        try:
            found = os.stat(path)  # noqa: PTH116  a Path for each of many files costs more than the call
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileStatus(found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None

    def is_directory(self, path: str) -> bool:  # noqa: D102
        return Path(path).is_dir()

    def entries(self, directory: str) -> Iterator[FileEntry]:  # noqa: D102
        try:
            found = list(os.scandir(directory))
        except FileNotFoundError:
            return
        for entry in found:
            if entry.is_dir():
                yield FileEntry(entry.path, None)
            else:
                status = self.status(entry.path)
                # None: it was renamed or removed while we looked, as if we had looked a moment later.
                if status is not None:
                    yield FileEntry(entry.path, status)

    def open_input(self, path: str) -> BinaryIO:  # noqa: D102
        return cast(BinaryIO, Path(path).open("rb", buffering=0))

    def open_output(self, path: str) -> BinaryIO:
        """A file that does not exist yet; closing it does not sync it, `sync` does."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return Path(path).open("xb", buffering=1 << 20)

    def move(self, source: str, target: str) -> None:  # noqa: D102
        parent = Path(target).parent
        if not parent.is_dir():
            parent.mkdir(parents=True, exist_ok=True)
            sync_directory(parent.parent)
        Path(source).replace(target)

    def sync(self, file: BinaryIO) -> None:  # noqa: D102
        file.flush()
        os.fsync(file.fileno())

    def sync_names(self, directories: Iterable[str]) -> None:  # noqa: D102
        for directory in directories:
            sync_directory(Path(directory))

    def replace(self, path: str, content: bytes) -> None:  # noqa: D102
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(path).with_name(f".tmp-{uuid.uuid4().hex}")
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            sync_directory(Path(path).parent)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def remove(self, path: str) -> None:  # noqa: D102
        Path(path).unlink(missing_ok=True)

    def remove_tree(self, directory: str) -> None:  # noqa: D102
        shutil.rmtree(directory, ignore_errors=True)


class ArrowFileSystem(FileSystem):
    """A file system of pyarrow's: S3, Google Storage, HDFS, Azure, or one of fsspec's.

    An object appears when it is complete, which is all that exactly once needs; giving it another name copies it where
    the store cannot do better.
    """

    def __init__(self, file_system: Any, prefix: str) -> None:
        """`prefix` is what stands before a path of the file system in a URI: `s3://`."""
        self._fs = file_system
        self._prefix = prefix

    def absolute(self, path: str) -> str:  # noqa: D102
        scheme, _, rest = path.partition("://")
        return f"{scheme}://{rest.rstrip('/')}"

    def status(self, path: str) -> FileStatus | None:  # noqa: D102
        return _status(self._fs.get_file_info(self._inner(path)))

    def is_directory(self, path: str) -> bool:  # noqa: D102
        return self._fs.get_file_info(self._inner(path)).type == pyarrow.fs.FileType.Directory

    def entries(self, directory: str) -> Iterator[FileEntry]:  # noqa: D102
        selector = pyarrow.fs.FileSelector(self._inner(directory), allow_not_found=True)
        for info in self._fs.get_file_info(selector):
            yield FileEntry(self._prefix + info.path.lstrip("/"), _status(info))

    def open_input(self, path: str) -> BinaryIO:  # noqa: D102
        return cast(BinaryIO, self._fs.open_input_file(self._inner(path)))

    def open_output(self, path: str) -> BinaryIO:  # noqa: D102
        self._make_directory(path)
        return cast(BinaryIO, self._fs.open_output_stream(self._inner(path)))

    def move(self, source: str, target: str) -> None:  # noqa: D102
        if self.status(source) is None:
            raise FileNotFoundError(source)
        self._make_directory(target)
        self._fs.move(self._inner(source), self._inner(target))

    def replace(self, path: str, content: bytes) -> None:  # noqa: D102
        with self.open_output(path) as file:
            file.write(content)

    def remove(self, path: str) -> None:  # noqa: D102
        with suppress(FileNotFoundError):
            self._fs.delete_file(self._inner(path))

    def remove_tree(self, directory: str) -> None:  # noqa: D102
        with suppress(OSError):
            self._fs.delete_dir(self._inner(directory))

    def _make_directory(self, path: str) -> None:
        self._fs.create_dir(self._inner(directory_of(path)), recursive=True)

    def _inner(self, path: str) -> str:
        return path.removeprefix(self._prefix)


def _status(info: Any) -> FileStatus | None:
    if info.type != pyarrow.fs.FileType.File:
        return None
    return FileStatus(info.mtime_ns or 0, info.size)


_LOCAL = LocalFileSystem()


@lru_cache(maxsize=64)
def _arrow_file_system(scheme: str, host: str) -> FileSystem:
    known = _SAME_SCHEME.get(scheme, scheme)
    uri = f"{known}://{host}"
    prefix = f"{scheme}://"
    try:
        found, _ = pyarrow.fs.FileSystem.from_uri(f"{uri}/")
        # HDFS paths begin behind the host, those of object stores with the bucket.
        return ArrowFileSystem(found, f"{scheme}://{host}" if known in ("hdfs", "viewfs") else prefix)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    except OSError as problem:
        raise ConfigurationError(f"{uri} cannot be reached: {problem}") from problem
    try:
        import fsspec
    except ImportError:
        raise ConfigurationError(
            f"{uri}: pyarrow knows no file system {scheme}://. Those of fsspec are read and written where it is "
            "installed: pip install fsspec and its package for this system"
        ) from None
    try:
        other, _ = fsspec.core.url_to_fs(f"{uri}/")
    except (ImportError, ValueError) as problem:
        raise ConfigurationError(f"{uri}: no file system for it: {problem}") from problem
    return ArrowFileSystem(pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(other)), prefix)


def local_path(path: str) -> str:
    """The path without a `file:` scheme; any other scheme is an error."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        return path.removeprefix("file:")
    if scheme != "file":
        raise ConfigurationError(f"{path}: expected a path on a local or mounted file system, not on {scheme}://")
    return rest


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
