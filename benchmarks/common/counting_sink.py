"""A sink that counts: it takes whole batches, adds up one column, and notes when each epoch was published."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pyarrow.compute as pc

from common.contender import Result
from penstock.common.batch import Batch
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


class CountingSink(Sink):
    """Writes nothing but a line per epoch: time, number of records, sum of their last column."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return _Writer()

    def create_committer(self, context: CommitterContext) -> Committer:
        return _Committer(Path(self._path))


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._outputs = 0
        self._checksum = 0

    def write(self, batch: Batch) -> None:
        """Adds up in the form in which results come, as the sinks of all contenders do: columns, or plain tuples."""
        self._outputs += len(batch)
        if not batch.is_columnar and set(map(type, batch.values)) == {tuple}:
            self._checksum += sum(map(itemgetter(-1), batch.values))
        else:
            self._checksum += pc.sum(batch.columns[-1]).as_py() or 0

    def prepare_commit(self) -> list[Token]:
        return [{"outputs": self._outputs, "checksum": self._checksum}]


class _Committer(Committer):
    def __init__(self, path: Path) -> None:
        self._path = path

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        outputs = sum(token["outputs"] for token in tokens)
        checksum = sum(token["checksum"] for token in tokens)
        with self._path.open("a") as file:
            file.write(json.dumps([time.time(), outputs, checksum]) + "\n")


def read_counts(path: Path, started: float) -> Result:
    """What the sink noted: the time of an epoch is that since the one before was published."""
    result = Result()
    for line in path.read_text().splitlines():
        published, outputs, checksum = json.loads(line)
        result.add(outputs, checksum, published - started)
        started = published
    return result
