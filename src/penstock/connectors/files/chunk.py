"""A part of a listed file, and how it is opened without trusting that the file is still the same."""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from penstock.common.errors import SourceError
from penstock.connectors.files.file_system import FileSystem, file_system_of

_CODEC_OF_SUFFIX = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".deflate": "deflate",
    ".bz2": "bz2",
    ".xz": "xz",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".lz4": "lz4",
}


class MissingFileError(SourceError):
    """A file that was listed is gone."""


def compression_of(path: str) -> str | None:
    """The compression that a file's name tells, by Arrow's name."""
    return _CODEC_OF_SUFFIX.get(Path(path).suffix.lower())


def decompressed(file: BinaryIO, compression: str) -> BinaryIO:
    """What is in a compressed file, for reading from the beginning to the end."""
    if compression == "xz":
        return cast(BinaryIO, lzma.LZMAFile(file))
    if compression == "deflate":
        return cast(BinaryIO, _Inflated(file))
    return cast(BinaryIO, pa.input_stream(pa.PythonFile(file, "r"), compression=compression))


class _Inflated(io.RawIOBase):
    """Zlib's streams, which have another frame than gzip's."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._zlib = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and not self._zlib.eof:
            taken = self._zlib.unconsumed_tail or self._file.read(1 << 16)
            if not taken:
                raise OSError("the file ends within its compressed data")
            data = self._zlib.decompress(taken, len(buffer))
        buffer[: len(data)] = data
        return len(data)


@dataclass(frozen=True)
class FileChunk:
    """The bytes [start, end) of a file that had this size and time of change when it was listed."""

    path: str
    start: int
    end: int
    size: int
    modified_ns: int

    def descriptor(self) -> dict[str, Any]:
        """The chunk as JSON."""
        return asdict(self)

    @staticmethod
    def of_descriptor(descriptor: Mapping[str, Any]) -> FileChunk:
        """The chunk that `descriptor` described."""
        return FileChunk(**descriptor)

    @contextmanager
    def opened(self) -> Generator[BinaryIO]:
        """The file for reading, decompressed; raises `SourceError` if it is not, or ceases to be, the listed one."""
        file_system = file_system_of(self.path)
        try:
            with file_system.open_input(self.path) as raw:
                self._check_unchanged(file_system)
                compression = compression_of(self.path)
                if compression is None:
                    yield raw
                else:
                    yield decompressed(raw, compression)
                self._check_unchanged(file_system)
        except FileNotFoundError as problem:
            raise MissingFileError(
                f"{self.path}: the file was there when the source listed it and is gone before it was read; its "
                "records would be lost. Put it back, and remove files only after the job has read them"
            ) from problem
        except PermissionError as problem:
            raise SourceError(f"{self.path}: no permission to read the file") from problem
        except OSError as problem:
            raise SourceError(f"{self.path}: the file cannot be read: {problem}") from problem

    def _check_unchanged(self, file_system: FileSystem) -> None:
        status = file_system.status(self.path)
        if status is None:
            # It is still open here, so that all of it can be read.
            return
        if status != (self.modified_ns, self.size):
            raise SourceError(
                f"{self.path}: the file was changed after the source had listed it (then {self.size} bytes, now "
                f"{status.size}). A file is read once and must be complete when it appears: write it under a "
                "hidden name (a leading '.' or '_') and rename it"
            )
