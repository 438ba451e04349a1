"""A part of a listed file, and how it is opened without trusting that the file is still the same."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from penstock.common.errors import SourceError

_CODEC_OF_SUFFIX = {".gz": "gzip", ".gzip": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4"}


def compression_of(path: str) -> str | None:
    """The compression that a file's name tells, by Arrow's name."""
    return _CODEC_OF_SUFFIX.get(Path(path).suffix.lower())


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

    @property
    def is_whole_file(self) -> bool:
        """Whether the chunk is all of its file."""
        return self.start == 0 and self.end == self.size

    @contextmanager
    def opened(self) -> Generator[BinaryIO]:
        """The file for reading, decompressed; raises `SourceError` if it is not, or ceases to be, the listed one."""
        try:
            with Path(self.path).open("rb", buffering=0) as raw:
                self._check_unchanged(raw)
                compression = compression_of(self.path)
                if compression is None:
                    yield raw
                else:
                    yield cast(BinaryIO, pa.input_stream(raw, compression=compression))
                self._check_unchanged(raw)
        except FileNotFoundError as problem:
            raise SourceError(
                f"{self.path}: the file was there when the source listed it and is gone before it was read; its "
                "records would be lost. Put it back, and remove files only after the job has read them"
            ) from problem
        except PermissionError as problem:
            raise SourceError(f"{self.path}: no permission to read the file") from problem
        except OSError as problem:
            raise SourceError(f"{self.path}: the file cannot be read: {problem}") from problem

    def _check_unchanged(self, raw: BinaryIO) -> None:
        status = os.fstat(raw.fileno())
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified_ns):
            raise SourceError(
                f"{self.path}: the file was changed after the source had listed it (then {self.size} bytes, now "
                f"{status.st_size}). A file is read once and must be complete when it appears: write it under a "
                "hidden name (a leading '.' or '_') and rename it"
            )
