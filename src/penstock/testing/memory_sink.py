"""A sink that keeps records in the memory of the test, exactly once, whatever crashes in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.batch import RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.collect_sink import CollectSink
from penstock.connectors.sink import Committer, CommitterContext, DeliveryGuarantee, EpochId, Sink, Token
from penstock.connectors.staged_records import unpack_records


class MemorySink(CollectSink):
    """Keeps the Python objects that every epoch published; an epoch published again takes the place of itself."""

    def __init__(self) -> None:
        super().__init__(_nobody)
        self.epochs: dict[int, list[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "epochs": {}}

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.EXACTLY_ONCE

    def for_records(self, record_type: TypeInformation) -> Sink:
        """Itself, which the test reads records from."""
        self._type_info = record_type
        return self

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        return _MemoryCommitter(self.epochs, codec_for(self._type_info), context)

    @property
    def records(self) -> list[Any]:
        """All records, in the order of epochs and subtasks."""
        return [record for number in sorted(self.epochs) for record in self.epochs[number]]

    def describe(self) -> str:  # noqa: D102
        return "memory, exactly once"


class _MemoryCommitter(Committer):
    def __init__(self, epochs: dict[int, list[Any]], codec: RecordCodec, context: CommitterContext) -> None:
        self._epochs = epochs
        self._codec = codec
        self._storage = context.storage

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        self._epochs[epoch.number] = [
            record
            for token in sorted(tokens, key=lambda token: (token["subtask"], token["part"]))
            for record in unpack_records(self._storage.read_verified(token["path"]), self._codec)
        ]


def _nobody(records: list[Any]) -> None:
    """The committer is the only consumer."""
