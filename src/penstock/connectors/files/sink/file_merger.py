"""Makes one staged file of several, in a task."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import BinaryIO, cast

from penstock.common.errors import SinkError
from penstock.common.fail_points import reach
from penstock.connectors.files.chunk import decompressed
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.sink.hashed_file import CompressedFile
from penstock.connectors.files.sink.settings import FileSinkSettings
from penstock.connectors.files.sink.staged_parts import check_staged_parts
from penstock.connectors.sink import EpochId, PublisherContext, Token, TokenPublisher


def merged_name(settings: FileSinkSettings, uid: str, job_id: str, token: Token) -> str:
    """Where the one file is staged, relative to the sink's directory: under a name that its parts decide."""
    digest = blake2b("\n".join(token["parts"]).encode(), digest_size=16).hexdigest()
    return f"{settings.staging(uid, job_id)}/merged/{digest}"


class FileMerger(TokenPublisher):
    """Merges the parts of files that went on for several epochs, and files that are compacted.

    The merged file appears by a rename under a name that follows from its parts: doing it again, or twice at once,
    changes nothing.
    """

    def __init__(self, settings: FileSinkSettings, context: PublisherContext) -> None:
        self._settings = settings
        self._context = context
        self._file_system = file_system_of(settings.directory)

    def publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Merges what is to be merged; the rest is done by the committer."""
        for token in tokens:
            if len(token.get("parts", ())) > 1:
                try:
                    self._merge(token)
                except FileNotFoundError as problem:
                    if self._is_published(token):
                        continue
                    raise SinkError(
                        f"{token['records']} records of epoch {epoch} cannot be published: the staged file "
                        f"{problem.filename or problem} is gone. Something has removed it"
                    ) from problem
                except OSError as problem:
                    raise SinkError(
                        f"the file sink cannot merge files in {self._settings.directory}: {problem}"
                    ) from problem

    def _merge(self, token: Token) -> None:
        directory = self._settings.directory
        target = f"{directory}/{merged_name(self._settings, self._context.uid, self._context.job_id, token)}"
        if self._file_system.status(target) is not None or self._is_published(token):
            return
        check_staged_parts(self._file_system, directory, token)
        temporary = f"{directory}/{self._settings.staging(self._context.uid, self._context.job_id)}/merged/"
        temporary += f".tmp-{uuid.uuid4().hex}"
        files: Sequence[Sequence[str]] = token.get("files", [token["parts"]])
        try:
            with self._file_system.open_output(temporary) as output:
                if len(files) == 1:
                    self._concatenate(files[0], output)
                else:
                    self._compact(files, output, token.get("compression", self._settings.compression))
                self._file_system.sync(output)
            self._file_system.move(temporary, target)
            self._file_system.sync_names([target.rpartition("/")[0]])
        finally:
            self._file_system.remove(temporary)
        reach("sink.files.merged")

    def _is_published(self, token: Token) -> bool:
        return self._file_system.status(f"{self._settings.directory}/{token['final']}") is not None

    def _concatenate(self, parts: Sequence[str], output: BinaryIO) -> None:
        """Lines behind lines; compressed streams can be put one behind the other as they are."""
        shutil.copyfileobj(_Joined(parts, self._opened), output, 1 << 20)

    def _compact(self, files: Sequence[Sequence[str]], output: BinaryIO, compression: str | None) -> None:
        compactor = self._settings.compactor
        assert compactor is not None
        if compression is None:
            compactor.compact(self._inputs(files, None), output, self._settings.writers)
            return
        compressed = CompressedFile(output, compression)
        compactor.compact(self._inputs(files, compression), cast(BinaryIO, compressed), self._settings.writers)
        compressed.end()

    def _inputs(self, files: Sequence[Sequence[str]], compression: str | None) -> Iterator[BinaryIO]:
        """The files, one open at a time; one of several parts is one file to a compactor."""
        for parts in files:
            joined = _Joined(parts, self._opened)
            if compression is not None:
                yield decompressed(cast(BinaryIO, joined), compression)
            elif len(parts) > 1:
                yield cast(BinaryIO, joined)
            else:
                with self._opened(parts[0]) as file:
                    yield file

    def _opened(self, part: str) -> BinaryIO:
        return self._file_system.open_input(f"{self._settings.directory}/{part}")


class _Joined:
    """Files one behind the other, for reading from the beginning to the end; one is open at a time."""

    closed = False

    def __init__(self, parts: Sequence[str], open_part: Callable[[str], BinaryIO]) -> None:
        self._parts = iter(parts)
        self._open_part = open_part
        self._file: BinaryIO | None = None

    def read(self, size: int = -1) -> bytes:
        """Fewer bytes than asked for at the end of a part, none at the end of all."""
        while True:
            if self._file is None:
                part = next(self._parts, None)
                if part is None:
                    return b""
                self._file = self._open_part(part)
            data = self._file.read(size)
            if data:
                return data
            self._file.close()
            self._file = None

    def readable(self) -> bool:
        """For Arrow."""
        return True

    def writable(self) -> bool:
        """For Arrow."""
        return False

    def seekable(self) -> bool:
        """For Arrow."""
        return False

    def close(self) -> None:
        """Closes the part that is open."""
        if self._file is not None:
            self._file.close()
