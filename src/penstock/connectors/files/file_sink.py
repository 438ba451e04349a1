"""Writes files, exactly once."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import quote

from penstock.common.batch import Batch
from penstock.common.errors import ConfigurationError, SinkError
from penstock.common.fail_points import reach
from penstock.connectors.files.file_committer import HIDDEN, FileCommitter, staging_directory, sync_directory
from penstock.connectors.files.listing import local_path
from penstock.connectors.files.record_writers import (
    CsvRecordWriter,
    JsonRecordWriter,
    ParquetRecordWriter,
    RecordWriter,
    TextRecordWriter,
)
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
)

_SUFFIXES = {"json": ".json", "csv": ".csv", "parquet": ".parquet", "text": ".txt"}


class FileSink(Sink):
    """Writes records into files of a directory that the driver and all workers see; exactly once.

    Each epoch and subtask that has records makes one file, `<prefix>-<uid>-<incarnation>-<epoch>-<subtask>.json`.
    Files are written under hidden names and appear complete, by a rename, when their epoch is committed; a file that
    is visible is never changed or removed again. The directory also gets a hidden folder `.penstock` with what is
    being written and which epoch was published last.

    Formats: `json` (one document per line), `csv`, `parquet`, `text` (the `str` of each record). `header` and
    `delimiter` are for CSV.
    """

    def __init__(
        self,
        directory: str,
        file_format: str = "json",
        *,
        prefix: str = "part",
        header: bool = False,
        delimiter: str = ",",
    ) -> None:
        if file_format not in _SUFFIXES:
            raise ConfigurationError(f"a file sink writes {', '.join(_SUFFIXES)}, got {file_format!r}")
        if not prefix or prefix.startswith((".", "_")) or "/" in prefix:
            raise ConfigurationError(
                f"the prefix of a file sink begins a visible file name: no leading '.' or '_', no '/', got {prefix!r}"
            )
        if len(delimiter) != 1:
            raise ConfigurationError(f"a CSV delimiter is one character, got {delimiter!r}")
        self._directory = Path(local_path(os.fspath(directory))).absolute()
        self._format = file_format
        self._prefix = prefix
        self._header = header
        self._delimiter = delimiter

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.EXACTLY_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        return _FileWriter(self, context)

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        return FileCommitter(self._directory, context)

    def describe(self) -> str:  # noqa: D102
        return f"{self._format} files in {self._directory}, exactly once"

    @property
    def directory(self) -> Path:
        """The directory that the files appear in."""
        return self._directory

    def final_name(self, context: SinkWriterContext) -> str:
        """The name of the file of one subtask in one epoch."""
        incarnation, number = context.epoch
        return (
            f"{self._prefix}-{quote(context.uid, safe='')}-{incarnation}-{number:010d}-{context.subtask:05d}"
            f"{_SUFFIXES[self._format]}"
        )

    def record_writer(self, file: BinaryIO) -> RecordWriter:
        """The writer of the sink's format."""
        match self._format:
            case "csv":
                return CsvRecordWriter(file, header=self._header, delimiter=self._delimiter)
            case "parquet":
                return ParquetRecordWriter(file)
            case "text":
                return TextRecordWriter(file)
            case _:
                return JsonRecordWriter(file)


class _FileWriter(SinkWriter):
    """Streams into a file of a random name, which is renamed by its content: the same records, the same token."""

    def __init__(self, sink: FileSink, context: SinkWriterContext) -> None:
        self._sink = sink
        self._context = context
        self._staging = staging_directory(sink.directory, context.uid, context.job_id, context.epoch)
        self._temporary = self._staging / f".tmp-{uuid.uuid4().hex}"
        self._records = 0
        self._file: _HashedFile | None = None
        self._writer: RecordWriter | None = None

    def write(self, batch: Batch) -> None:
        if not len(batch):
            return
        try:
            if self._writer is None:
                self._staging.mkdir(parents=True, exist_ok=True)
                self._file = _HashedFile(self._temporary)
                self._writer = self._sink.record_writer(cast(BinaryIO, self._file))
            self._writer.write(batch)
        except OSError as problem:
            raise self._not_writable(problem) from problem
        self._records += len(batch)

    def prepare_commit(self) -> list[Token]:
        if self._file is None or self._writer is None:
            return []
        try:
            self._writer.finish()
            size = self._file.sync()
            staged = self._staging / f"{self._context.subtask:05d}-{self._file.digest()}"
            self._temporary.replace(staged)
            sync_directory(self._staging)
        except OSError as problem:
            raise self._not_writable(problem) from problem
        reach("sink.files.staged")
        return [
            {
                "staged": str(staged.relative_to(self._sink.directory)),
                "final": self._sink.final_name(self._context),
                "records": self._records,
                "bytes": size,
            }
        ]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)

    def _not_writable(self, problem: OSError) -> SinkError:
        return SinkError(f"the file sink cannot write to {self._sink.directory / HIDDEN}: {problem}")


class _HashedFile:
    """A new file that knows the hash of what was written to it."""

    closed = False

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=1 << 20)
        self._hash = blake2b(digest_size=16)
        self._size = 0

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        self._hash.update(view)
        self._file.write(view)
        self._size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> int:
        """Everything on disk; returns the size."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._size

    def digest(self) -> str:
        return self._hash.hexdigest()

    def close(self) -> None:
        # Closed twice: Arrow closes the files that it is given.
        self._file.close()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False
