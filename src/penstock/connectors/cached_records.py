"""The records of a stream, kept in a directory for later jobs: a sink that writes them and a source that reads them."""

from __future__ import annotations

import json
import os
import pickle
import uuid
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
)
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

_PARTS = "parts"
_EPOCHS = "epochs"
_NEXT = "next"


class CachedRecordsSink(Sink):
    """Writes records with their timestamps to files of a directory, and names the files of each committed epoch."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.EXACTLY_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        return _Writer(Path(self._directory, _PARTS), f"{context.epoch}-{context.subtask}")

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        return _Committer(Path(self._directory, _EPOCHS))

    def describe(self) -> str:  # noqa: D102
        return "cache"


class _Writer(SinkWriter):
    def __init__(self, directory: Path, prefix: str) -> None:
        self._directory = directory
        self._prefix = prefix
        self._file: BinaryIO | None = None
        self._temporary = directory / f".tmp-{uuid.uuid4().hex}"
        self._digest = blake2b(digest_size=16)
        self._records = 0

    def write(self, batch: Batch) -> None:
        if not len(batch):
            return
        if self._file is None:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = self._temporary.open("wb")
        content = pickle.dumps((pack_records(batch), batch.timestamps))
        self._digest.update(content)
        self._file.write(content)
        self._records += len(batch)

    def prepare_commit(self) -> list[Token]:
        if self._file is None:
            return []
        self._file.flush()
        os.fsync(self._file.fileno())
        # By content: an attempt that writes the same records again names the same file.
        name = f"{self._prefix}-{self._digest.hexdigest()}"
        self._temporary.replace(self._directory / name)
        return [{"name": name, "records": self._records}]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._temporary.unlink(missing_ok=True)


class _Committer(Committer):
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        parts = sorted(((token["name"], token["records"]) for token in tokens), key=lambda part: _subtask(part[0]))
        temporary = self._directory / f".tmp-{uuid.uuid4().hex}"
        temporary.write_text(json.dumps(parts))
        temporary.replace(self._directory / f"{epoch.incarnation:010d}-{epoch.number:010d}.json")


def _subtask(name: str) -> int:
    return int(name.split("-")[1])


class CachedRecordsSource(Source):
    """Reads what a `CachedRecordsSink` has written, in the order of epochs and subtasks."""

    def __init__(self, directory: str, type_info: TypeInformation) -> None:
        self._directory = directory
        self._type_info = type_info

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def parts(self) -> list[tuple[str, int]]:
        """The names of the files, and how many records each has."""
        epochs = sorted(Path(self._directory, _EPOCHS).glob("*.json"))
        return [(name, records) for path in epochs for name, records in json.loads(path.read_text())]

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _Enumerator(self.parts(), context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _Reader(Path(self._directory, _PARTS), self._type_info)

    def describe(self) -> str:  # noqa: D102
        return "cached records"


class _Enumerator(SplitEnumerator):
    def __init__(self, parts: list[tuple[str, int]], context: EnumeratorContext) -> None:
        self._parts = parts
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        orders: list[SplitRead] = []
        left = budget.max_records
        while not self.is_exhausted() and left > 0:
            name, records = self._parts[self._state.get(_NEXT, 0)]
            if orders and records > left:
                break
            orders.append(SplitRead(name, 0, records, finishes=True, size=records))
            left -= records
            self._state[_NEXT] = self._state.get(_NEXT, 0) + 1
        return orders

    def is_exhausted(self) -> bool:
        return self._state.get(_NEXT, 0) >= len(self._parts)


class _Reader(SplitReader):
    def __init__(self, directory: Path, type_info: TypeInformation) -> None:
        self._directory = directory
        self._codec = codec_for(type_info)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        with (self._directory / read.split_id).open("rb") as file:
            assert read.end is not None
            left = int(read.end)
            while left > 0:
                content, timestamps = pickle.load(file)
                values: list[Any] = unpack_records(content, self._codec)
                left -= len(values)
                yield Batch(self._codec, values=values, timestamps=timestamps)
        self.position = read.end
        self.finished = True
