"""Reads text from a TCP server."""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.serialization import SimpleStringSchema
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.broken_records import BrokenRecords, OnError, checked_on_error
from penstock.connectors.running_source import RunningSource
from penstock.connectors.socket.connection import UNREADABLE, SocketTextFunction
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.connectors.staged_records import pack_records, unpack_records
from penstock.connectors.tolerant_reading import tolerant_batches
from penstock.functions.output_tag import OutputTag

_SPLIT = "0"
_NEXT = "next"
_ENDED = "ended"
_UNFINISHED = ".inprogress"
_MAX_PORT = 65_535
_KEPT = codec_for(Types.PRIMITIVE_ARRAY(Types.BYTE()))
"""What was received is kept as it came."""


class SocketTextSource(Source):
    """Text from a TCP server, cut at a delimiter. One connection, made by the driver.

    Text is UTF-8. Bytes that are not become a replacement character, as in Flink; with `on_error` (`"fail"`, `"skip"`,
    or the `OutputTag` of a side output) their record is a broken one.

    At least once, and no more can be had: a connection cannot be read again. What has been received is written to the
    checkpoint directory before a task reads it, and counts once from there on, whatever fails. What was on its way
    when the driver died, and what a server sends while nobody is connected, is lost unless the server sends it again;
    if it sends more again than was lost, that comes twice.

    When the server ends the connection the stream ends, after `max_retry` attempts, a second apart, to connect again (a
    negative number: for ever). For trying things out; for data that counts use something that keeps it.
    """

    def __init__(
        self,
        hostname: str,
        port: int,
        delimiter: str = "\n",
        max_retry: int = 0,
        on_error: OnError | None = None,
    ) -> None:
        if not hostname or not 0 < port <= _MAX_PORT:
            raise ConfigurationError(
                f"a socket source needs a host and a port from 1 to {_MAX_PORT}, got {hostname!r} and {port!r}"
            )
        if not delimiter:
            raise ConfigurationError("a socket source needs a delimiter of at least one character")
        self.hostname = hostname
        self.port = port
        self.delimiter = delimiter
        self.max_retry = max_retry
        self._on_error = None if on_error is None else checked_on_error(on_error)
        self._directory = ""

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def broken_records_tag(self) -> OutputTag | None:  # noqa: D102
        return self._on_error if isinstance(self._on_error, OutputTag) else None

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.STRING()

    def prepared(self, directory: str) -> Source:
        """The source with a place for what it has received."""
        source = copy.copy(self)
        source._directory = directory
        return source

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _SocketEnumerator(self, Path(self._directory), context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _ReceivedReader(f"socket {self.hostname}:{self.port}", self._on_error)

    def describe(self) -> str:  # noqa: D102
        return f"socket {self.hostname}:{self.port}, at least once"


class _SocketEnumerator(SplitEnumerator):
    """Received records lie in numbered files; epochs are told which ones to read.

    State: the number of the first file that no epoch has read; whether the stream has ended.
    """

    def __init__(self, source: SocketTextSource, directory: Path, context: EnumeratorContext) -> None:
        self._source = source
        self._directory = directory
        self._state = context.state
        self._operator = context.operator
        self._running: RunningSource | None = None
        self._waiting: dict[int, int] = {}
        """Files that no epoch was told to read: number and records."""
        self._after = 0
        self._read: set[int] = set()

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        if self.is_exhausted():
            return []
        self._remove_read()
        running = self._running or self._start(budget)
        collected = running.take(wait=False)
        self._keep(collected.values)
        if collected.failure is not None:
            raise collected.failure
        numbers, count = self._affordable(budget.max_records)
        ends = collected.ended and len(numbers) == len(self._waiting)
        if not numbers and not ends:
            return []
        for number in numbers:
            del self._waiting[number]
        self._read.update(numbers)
        start: int = self._state.get(_NEXT, 0)
        end = self._state[_NEXT] = numbers[-1] + 1 if numbers else start
        if ends:
            self._state[_ENDED] = True
        descriptor = {"files": [str(self._path(number)) for number in numbers]}
        return [SplitRead(_SPLIT, start, end, descriptor, finishes=ends, size=max(1, count))]

    def is_exhausted(self) -> bool:
        return bool(self._state.get(_ENDED))

    def live_splits(self) -> Collection[str]:
        return () if self.is_exhausted() else (_SPLIT,)

    def close(self) -> None:
        """Ends the connection; what it has received stays for the next start."""
        if self._running is not None:
            self._running.stop()
            self._keep(self._running.take(wait=False).values)

    def _start(self, budget: EpochBudget) -> RunningSource:
        self._directory.mkdir(parents=True, exist_ok=True)
        first: int = self._state.get(_NEXT, 0)
        for path in sorted(self._directory.iterdir()):
            if path.suffix == _UNFINISHED or int(path.stem) < first:
                path.unlink()
            else:
                # Received before a restart, and of no epoch that was committed.
                self._waiting[int(path.stem)] = len(unpack_records(path.read_bytes(), _KEPT))
        self._after = max(self._waiting, default=first - 1) + 1
        source = self._source
        function = SocketTextFunction(source.hostname, source.port, source.delimiter, source.max_retry)
        self._running = RunningSource(function, self._operator, budget.max_records)
        self._running.start()
        return self._running

    def _keep(self, records: list[str]) -> None:
        """Writes what was received, so that it is there after a restart."""
        if not records:
            return
        number, self._after = self._after, self._after + 1
        path = self._path(number)
        unfinished = path.with_suffix(_UNFINISHED)
        with unfinished.open("wb") as file:
            values = [record.encode("utf-8", UNREADABLE) for record in records]
            file.write(pack_records(Batch(_KEPT, values=values)))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        self._waiting[number] = len(records)

    def _affordable(self, max_records: int) -> tuple[list[int], int]:
        numbers: list[int] = []
        count = 0
        for number, records in sorted(self._waiting.items()):
            if numbers and count + records > max_records:
                break
            numbers.append(number)
            count += records
        return numbers, count

    def _remove_read(self) -> None:
        """An epoch is planned when the one before is committed: nobody asks for its files again."""
        for number in self._read:
            self._path(number).unlink(missing_ok=True)
        self._read.clear()

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:012d}"


class _ReceivedReader(SplitReader):
    def __init__(self, name: str, on_error: OnError | None) -> None:
        self._name = name
        self._broken = self.broken_records = None if on_error is None else BrokenRecords(on_error)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        for path in map(Path, read.descriptor["files"]):
            if not path.exists():
                raise SourceError(
                    f"what the socket source has received is not at {path}: the checkpoint directory must be one that "
                    "the driver and all workers see"
                )
            yield from self._texts(unpack_records(path.read_bytes(), _KEPT), int(path.stem))
        self.position = read.end
        self.finished = read.finishes

    def _texts(self, received: list[bytes], part: int) -> Iterator[Batch]:
        if self._broken is None:
            yield Batch(codec_for(Types.STRING()), values=[record.decode("utf-8", "replace") for record in received])
            return
        batches, broken = tolerant_batches(SimpleStringSchema().to_batch, received, [None] * len(received))
        for place, reason in broken:
            self._broken.add(received[place], f"{self._name}, part {part}, record {place}", reason)
        yield from batches
