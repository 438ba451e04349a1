"""Hands records to the program that runs the job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.short_floats import short_floats_in
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
from penstock.connectors.staged_records import GatheredRecords, unpack_records

_MAX_STAGED_BYTES = 8 << 20

Consumer = Callable[[list[Any]], object]


class CollectSink(Sink):
    """Calls `consumer` on the driver with lists of records, epoch by epoch and in the order of the subtasks.

    Each epoch is handed over once in a run of the program, however often the job is restarted in it; after a crash of
    the program the newest one comes again in the new run.
    Numbers of the type FLOAT come as in PyFlink, with no more digits than their 32 bits hold.
    """

    def __init__(self, consumer: Consumer, type_info: TypeInformation | None = None) -> None:
        self._consumer: Consumer | None = consumer
        self._type_info = type_info
        self._handed_over: dict[str, EpochId] = {}
        """The newest epoch of each job. A job that restarts has a new committer, which publishes that epoch again."""

    def __getstate__(self) -> dict[str, Any]:
        # The consumer stays with the driver: queues and locks cannot travel, and tasks do not need it.
        return {**self.__dict__, "_consumer": None, "_handed_over": {}}

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        return _CollectWriter(context)

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        codec = codec_for(self._type_info)
        return _CollectCommitter(self._in_flinks_form(), codec, context, self._handed_over)

    def _in_flinks_form(self) -> Consumer:
        consumer, short = self._consumer, short_floats_in(self._type_info)
        assert consumer is not None, "committers are made on the driver"
        return consumer if short is None else lambda records: consumer([short(record) for record in records])

    def describe(self) -> str:  # noqa: D102
        return "collect, at least once"


class _CollectWriter(SinkWriter):
    def __init__(self, context: SinkWriterContext) -> None:
        self._context = context
        self._waiting = GatheredRecords()
        self._tokens: list[Token] = []

    def write(self, batch: Batch) -> None:
        if not len(batch):
            return
        self._waiting.append(batch)
        if self._waiting.nbytes >= _MAX_STAGED_BYTES:
            self._stage()

    def prepare_commit(self) -> list[Token]:
        if self._waiting:
            self._stage()
        return self._tokens

    def _stage(self) -> None:
        path = self._context.storage.write_staged(self._context.staging, self._waiting.take())
        self._tokens.append({"subtask": self._context.subtask, "part": len(self._tokens), "path": path})


class _CollectCommitter(Committer):
    def __init__(
        self, consumer: Consumer, codec: RecordCodec, context: CommitterContext, handed_over: dict[str, EpochId]
    ) -> None:
        self._consumer = consumer
        self._codec = codec
        self._storage = context.storage
        self._job_id = context.job_id
        self._handed_over = handed_over

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        before = self._handed_over.get(self._job_id)
        if before is not None and epoch <= before:
            return
        for token in sorted(tokens, key=lambda token: (token["subtask"], token["part"])):
            self._consumer(unpack_records(self._storage.read_verified(token["path"]), self._codec))
        self._handed_over[self._job_id] = epoch
