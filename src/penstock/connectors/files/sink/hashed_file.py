"""A new file that knows the hash of what was written to it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.connectors.files.file_system import FileSystem


class HashedFile:
    """Takes bytes and never goes back; looks like a file to Arrow."""

    closed = False

    def __init__(self, file_system: FileSystem, path: str) -> None:
        self._file_system = file_system
        self._file = file_system.open_output(path)
        self._hash = blake2b(digest_size=16)
        self._size = 0

    def write(self, data: Any) -> int:
        """Takes bytes, or a buffer of them."""
        view = memoryview(data)
        self._hash.update(view)
        self._file.write(view)
        self._size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """The size so far."""
        return self._size

    def flush(self) -> None:
        """Hands on what is buffered."""
        self._file.flush()

    def sync(self) -> int:
        """Everything is durable afterwards, and the file closed; returns the size."""
        self._file_system.sync(self._file)
        self._file.close()
        return self._size

    def digest(self) -> str:
        """The hash of all that was written."""
        return self._hash.hexdigest()

    def close(self) -> None:
        """Called twice: Arrow closes the files that it is given."""
        return

    def abandon(self) -> None:
        """Closes the file though it is not complete."""
        self._file.close()

    def writable(self) -> bool:
        """For Arrow."""
        return True

    def readable(self) -> bool:
        """For Arrow."""
        return False

    def seekable(self) -> bool:
        """For Arrow."""
        return False


class _KeptOpen:
    """Hands bytes on to a file that its owner syncs and closes: Arrow closes what it is given."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        return


class CompressedFile:
    """Compresses what is written and hands it on; `end` writes what is left."""

    def __init__(self, file: BinaryIO, compression: str) -> None:
        self._stream = pa.CompressedOutputStream(pa.PythonFile(_KeptOpen(file), "w"), compression)
        self.closed = False

    def write(self, data: Any) -> int:
        """Takes bytes, or a buffer of them."""
        self._stream.write(data)
        return memoryview(data).nbytes

    def tell(self) -> int:
        """How much was taken."""
        return self._stream.tell()

    def flush(self) -> None:
        """Nothing: a compressed file is complete at its end only."""
        return

    def end(self) -> None:
        """Writes what is left."""
        self._stream.close()

    def close(self) -> None:
        """For Arrow, which closes the files that it is given."""
        return

    def writable(self) -> bool:
        """For Arrow."""
        return True

    def readable(self) -> bool:
        """For Arrow."""
        return False

    def seekable(self) -> bool:
        """For Arrow."""
        return False
