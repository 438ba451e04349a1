"""Decides which parts of which files an epoch reads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import MutableMapping, Sequence

from penstock.common.errors import SourceError
from penstock.connectors.files.chunk import FileChunk, compression_of
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.listing import ListedFile, list_files
from penstock.connectors.source import EpochBudget, Json, SplitEnumerator, SplitRead

MAX_CHUNK_BYTES = 32 << 20
MIN_CHUNK_BYTES = 1 << 20
MAX_CHUNKS_PER_TASK = 32
_FILE = "file:"
_LISTED = "listed"


class FileEnumerator(SplitEnumerator):
    """Each file once, oldest first, in chunks that each are one split and finish with their read.

    State: `file:<path>` -> [time of change in ns, size, bytes that epochs have been told to read].
    """

    def __init__(
        self,
        paths: Sequence[str],
        file_format: FileFormat,
        *,
        recursive: bool,
        watch_interval: int | None,
        settle_ms: int,
        splits_files: bool = True,
        state: MutableMapping[str, Json],
    ) -> None:
        self._paths = paths
        self._format = file_format
        self._recursive = recursive
        self._watch_interval = watch_interval
        self._settle_ns = settle_ms * 1_000_000
        self._splits_files = splits_files and file_format.is_splittable
        self._state = state
        self._next_listing: int | None = None
        self._unsettled: dict[str, ListedFile] = {}
        self._record_bytes: dict[str, float | None] = {}
        """Of the file that is read now: what was estimated once."""
        pending = sorted(
            ListedFile(entry[0], key.removeprefix(_FILE), entry[1])
            for key, entry in state.items()
            if key.startswith(_FILE) and entry[2] < entry[1]
        )
        self._pending = deque(pending)

    @property
    def paths(self) -> list[str]:
        """The files that have been found so far."""
        return sorted(key.removeprefix(_FILE) for key in self._state if key.startswith(_FILE))

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:  # noqa: D102
        if self._watch_interval is None:
            if _LISTED not in self._state:
                # Some may be known: from when the source still watched.
                found = list_files(self._paths, recursive=self._recursive)
                self._take([file for file in found if not self._is_known(file)])
                # Bounded: what is there now is all there will be, also after a restart.
                self._state[_LISTED] = True
        elif self._next_listing is None or now >= self._next_listing:
            self._look(now)
        return self._cut(budget)

    def is_exhausted(self) -> bool:  # noqa: D102
        return self._watch_interval is None and _LISTED in self._state and not self._pending

    def lag(self) -> int | None:
        """An estimate, from the bytes that wait and the size of a record in the first file."""
        if not self._pending:
            return 0
        per_record = self._bytes_per_record(self._pending[0].path)
        waiting = sum(file.size - self._state[_FILE + file.path][2] for file in self._pending)
        return None if per_record is None else max(1, int(waiting / per_record))

    def next_poll(self, now: int) -> int:  # noqa: D102
        return super().next_poll(now) if self._next_listing is None else self._next_listing

    def _look(self, now: int) -> None:
        assert self._watch_interval is not None
        self._next_listing = now + self._watch_interval
        settled_before = time.time_ns() - self._settle_ns
        ready: list[ListedFile] = []
        unsettled: dict[str, ListedFile] = {}
        for file in list_files(self._paths, recursive=self._recursive):
            if self._is_known(file):
                continue
            if file.modified_ns <= settled_before or self._unsettled.get(file.path) == file:
                ready.append(file)
            else:
                unsettled[file.path] = file
        self._unsettled = unsettled
        self._take(ready)

    def _is_known(self, file: ListedFile) -> bool:
        known = self._state.get(_FILE + file.path)
        if known is not None:
            _require_unchanged(file, known)
        return known is not None

    def _take(self, files: Sequence[ListedFile]) -> None:
        for file in files:
            self._state[_FILE + file.path] = [file.modified_ns, file.size, 0]
            if file.size:
                self._pending.append(file)

    def _cut(self, budget: EpochBudget) -> list[SplitRead]:
        if not self._pending:
            return []
        bytes_left = self._affordable_bytes(budget)
        largest = self._chunk_bytes(bytes_left, budget.parallelism)
        reads: list[SplitRead] = []
        while self._pending and len(reads) < MAX_CHUNKS_PER_TASK * budget.parallelism:
            file = self._pending[0]
            start: int = self._state[_FILE + file.path][2]
            whole = not self._splits_files or compression_of(file.path) is not None
            end = file.size if whole else min(file.size, start + largest)
            if reads and end - start > bytes_left:
                if whole or bytes_left < MIN_CHUNK_BYTES:
                    break
                end = start + bytes_left
            bytes_left -= end - start
            chunk = FileChunk(file.path, start, end, file.size, file.modified_ns)
            reads.append(
                SplitRead(f"{file.path}@{start}", start, end, chunk.descriptor(), finishes=True, size=end - start)
            )
            self._state[_FILE + file.path] = [file.modified_ns, file.size, end]
            if end == file.size:
                self._pending.popleft()
        return reads

    def _affordable_bytes(self, budget: EpochBudget) -> int:
        per_record = self._bytes_per_record(self._pending[0].path)
        if per_record is None:
            return budget.max_bytes
        return max(1, min(budget.max_bytes, int(per_record * budget.max_records)))

    def _bytes_per_record(self, path: str) -> float | None:
        if path not in self._record_bytes:
            self._record_bytes = {path: self._format.bytes_per_record(path)}
        return self._record_bytes[path]

    def _chunk_bytes(self, affordable: int, parallelism: int) -> int:
        """Small enough that all tasks have something to read, large enough to be worth a task."""
        waiting = 0
        for file in self._pending:
            waiting += file.size - self._state[_FILE + file.path][2]
            if waiting >= affordable:
                break
        share = -(-min(waiting, affordable) // parallelism)
        return min(MAX_CHUNK_BYTES, affordable, max(MIN_CHUNK_BYTES, share))


def _require_unchanged(file: ListedFile, known: Sequence[int]) -> None:
    if [file.modified_ns, file.size] != list(known[:2]):
        raise SourceError(
            f"{file.path}: the file was changed after the source had listed it (then {known[1]} bytes, now "
            f"{file.size}). Each file of a watched directory is read once: write what is new into a new file"
        )
