"""Writes the records of one subtask in one epoch into staged files, one per bucket and more where they get large."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, BinaryIO, cast
from urllib.parse import quote

from penstock.common.batch import Batch
from penstock.common.errors import SinkError
from penstock.common.fail_points import reach
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.sink.bucket_assigner import BucketContext
from penstock.connectors.files.sink.hashed_file import CompressedFile, HashedFile
from penstock.connectors.files.sink.settings import HIDDEN, FileSinkSettings
from penstock.connectors.sink import SinkWriter, SinkWriterContext, Token

_MAX_OPEN_FILES = 256
_RECORDS_BETWEEN_LOOKS = 8_192
"""After how many records the size of a file is looked at, where it matters."""


class _StagedFile:
    """Streams into a file of a random name, which is renamed by its content: the same records, the same token."""

    def __init__(self, settings: FileSinkSettings, staging: str) -> None:
        self._file_system = file_system_of(settings.directory)
        self._directory = settings.directory
        self._staging = staging
        self._temporary = f"{settings.directory}/{staging}/.tmp-{uuid.uuid4().hex}"
        self._file = HashedFile(self._file_system, self._temporary)
        self._compressed: CompressedFile | None = None
        target: Any = self._file
        if settings.compression is not None:
            target = self._compressed = CompressedFile(cast(BinaryIO, self._file), settings.compression)
        self._writer = settings.writers.create(cast(BinaryIO, target))
        self._records = 0

    @property
    def size(self) -> int:
        return self._file.tell()

    def write(self, batch: Batch) -> None:
        self._writer.write(batch)
        self._records += len(batch)

    def stage(self, place: str) -> dict[str, Any]:
        """Makes the file durable; the part of its token that is known here.

        `place` tells it apart from a file of the same content.
        """
        self._writer.finish()
        if self._compressed is not None:
            self._compressed.end()
        size = self._file.sync()
        staged = f"{self._staging}/{place}-{self._file.digest()}"
        self._file_system.move(self._temporary, f"{self._directory}/{staged}")
        return {"staged": staged, "records": self._records, "bytes": size}

    def abandon(self) -> None:
        with suppress(OSError):
            self._file.abandon()
            self._file_system.remove(self._temporary)


class FileWriter(SinkWriter):
    """The writer of a file sink."""

    def __init__(self, settings: FileSinkSettings, context: SinkWriterContext) -> None:
        self._settings = settings
        self._context = context
        self._staging = settings.staging_of(context.uid, context.job_id, context.epoch)
        self._times = BucketContext(context.current_processing_time, context.current_watermark)
        self._open: dict[str, _StagedFile] = {}
        """By bucket, the one that was written to last at the end."""
        self._counts: dict[str, int] = {}
        self._tokens: list[Token] = []

    def write(self, batch: Batch) -> None:  # noqa: D102
        if not len(batch):
            return
        try:
            for bucket, records in self._settings.buckets.split(batch, self._times):
                self._write_to(bucket, records)
        except OSError as problem:
            raise self._not_writable(problem) from None

    def prepare_commit(self) -> list[Token]:  # noqa: D102
        try:
            for bucket in list(self._open):
                self._stage(bucket, is_full=False)
            if self._tokens:
                file_system = file_system_of(self._settings.directory)
                file_system.sync_names([f"{self._settings.directory}/{self._staging}"])
        except OSError as problem:
            raise self._not_writable(problem) from None
        if self._tokens:
            reach("sink.files.staged")
        return self._tokens

    def close(self) -> None:  # noqa: D102
        for file in self._open.values():
            file.abandon()
        self._open.clear()

    def _write_to(self, bucket: str, batch: Batch) -> None:
        limit = self._settings.rolling.part_size
        step = len(batch) if limit is None else _RECORDS_BETWEEN_LOOKS
        for start in range(0, len(batch), step):
            file = self._open.pop(bucket, None)
            if file is None:
                if len(self._open) >= _MAX_OPEN_FILES:
                    self._stage(next(iter(self._open)), is_full=False)
                file = _StagedFile(self._settings, self._staging)
            self._open[bucket] = file
            file.write(batch.part(start, min(start + step, len(batch))))
            if limit is not None and file.size >= limit:
                self._stage(bucket, is_full=True)

    def _stage(self, bucket: str, *, is_full: bool) -> None:
        file = self._open.pop(bucket)
        try:
            token = file.stage(f"{self._context.subtask:05d}-{len(self._tokens):05d}")
        except BaseException:
            file.abandon()
            raise
        self._tokens.append({**token, "bucket": bucket, "name": self._name(bucket), "full": is_full})

    def _name(self, bucket: str) -> str:
        incarnation, number = self._context.epoch
        count = self._counts.get(bucket, 0)
        self._counts[bucket] = count + 1
        return (
            f"{self._settings.names.part_prefix}-{quote(self._context.uid, safe='')}-{incarnation}-{number:010d}-"
            f"{self._context.subtask:05d}{f'-{count}' if count else ''}{self._settings.suffix}"
        )

    def _not_writable(self, problem: OSError) -> SinkError:
        message = f"the file sink cannot write to {self._settings.directory}/{HIDDEN}: {problem}"
        if isinstance(problem, FileNotFoundError | FileExistsError):
            # A driver removes, with the epoch that it publishes, what others have staged for it.
            message += ". If files were removed there, another driver has taken over the job, or somebody cleans up"
        return SinkError(message)
