"""One subtask of one chain, with its inputs and its store, for a harness."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, cast

from penstock.common.batch import Batch
from penstock.connectors.sink import EpochId
from penstock.engine.stages.arrival import arrived
from penstock.engine.stages.chain import ChainInstance
from penstock.engine.stages.chain_inputs import ChainInputs
from penstock.engine.stages.compiled import CompiledChain, CompiledEdge
from penstock.engine.stages.envelope import SOURCE_SENDER, Envelope, Kind
from penstock.runtime.metrics import MetricGroup
from penstock.state.memory import MemoryStore
from penstock.state.operator_state import UnionLists

_INT64 = struct.Struct("<q")
_END = b"\xff" * 64
_SPLIT = 0
"""The one split that a source of a harness has."""

Entries = list[tuple[bytes, bytes]]


class ChainSubtask:
    """Takes rows one by one; what it sends is in `rows`."""

    def __init__(
        self,
        chain: CompiledChain,
        subtask: int,
        processing_time: int,
        metrics: MetricGroup,
        entries: Entries | None,
        union_lists: UnionLists,
    ) -> None:
        self.rows: list[Envelope] = []
        self._store = MemoryStore()
        if entries is not None:
            self._store.apply(entries, "snapshot")
        self._chain = ChainInstance(
            chain,
            job_id="harness",
            job_name="harness",
            subtask=subtask,
            run=0,
            store=self._store,
            storage=cast(Any, None),  # the sinks of a harness stage nothing
            metrics=metrics,
            restored_epoch=None if entries is None else 1,
            union_lists=union_lists,
        )
        self._is_source = not chain.inputs
        self._inputs = ChainInputs(chain)
        self._epoch = 0
        if not self._is_source:
            self._inputs.load(self._store)
            self._inputs.announce((edge.number, _SPLIT) for edge in chain.inputs if edge.source_level == 0)
            self._chain.restore_watermark(self._inputs.current_watermark)
            self._chain.end_inputs(self._inputs.just_ended())
        self._chain.set_writers(_SPLIT if self._is_source else subtask, self.rows)
        self._begin_epoch(processing_time)

    def watermark_of(self, name: str) -> int | None:
        """How far event time has come at an operator; None where it is not in this chain."""
        ids = [node.id for node in self._chain.chain.nodes if node.name == name]
        return self._chain.watermarks[ids[0]] if ids else None

    # --- steps

    def emit_from_source(self, batch: Batch) -> None:
        """Records of the source."""
        self._chain.emit_from_source(batch)

    def watermark_from_source(self, watermark: int) -> None:
        """Event time at the source."""
        self._chain.tell_watermark(self._chain.chain.head.id, watermark)

    def end_source(self) -> None:
        """The end of the source: of its split, then of the whole."""
        self._chain.finish()
        self._chain.flush_writers()
        self._chain.set_writers(SOURCE_SENDER, self.rows)
        for writer in self._chain.writers.values():
            writer.end()

    def restore_source(self, watermark: int) -> None:
        """Event time at the source as it was."""
        self._chain.restore_watermark(watermark)

    def take(self, row: Envelope, edge: CompiledEdge) -> None:
        """A row that another chain has sent."""
        if row.kind == Kind.DATA:
            self._chain.process(arrived(edge, row.payload), edge)
        elif row.kind == Kind.PARTIALS:
            self._chain.process_partials(row.payload)
        else:
            self._control(row)

    def set_processing_time(self, now: int) -> None:
        """The clock."""
        for context in self._chain.contexts.values():
            context.processing_time = now
        self._chain.advance_processing_time(now)

    def flush(self) -> None:
        """Packs what is on the way to other chains."""
        self._chain.flush_writers()

    def close(self) -> None:
        """Closes the functions."""
        self._chain.close()

    def snapshot(self, processing_time: int) -> Entries:
        """What must be durable, as at the end of an epoch; another epoch begins."""
        self._chain.snapshot_functions()
        self._chain.end_epoch()
        if not self._is_source:
            self._inputs.save(self._store)
        changes = list(self._store.changes())
        self._store.discard_changes()
        self._store.apply(changes, f"epoch {self._epoch}")
        self._begin_epoch(processing_time)
        return list(self._store.scan(b"", _END))

    def union_lists(self) -> dict[str, str]:
        """What functions have in union lists, as of the last snapshot."""
        return self._chain.union_lists()

    def _begin_epoch(self, processing_time: int) -> None:
        self._epoch += 1
        self._chain.begin_epoch(EpochId(1, self._epoch), processing_time, "")

    def _control(self, row: Envelope) -> None:
        was_idle = self._inputs.is_idle
        moved: dict[Kind, Callable[[], int | None]] = {
            Kind.WATERMARK: lambda: self._inputs.watermark(row.edge, row.sender, _INT64.unpack(row.payload)[0]),
            Kind.IDLE: lambda: self._inputs.idle(row.edge, row.sender),
            Kind.END: lambda: self._inputs.end(row.edge, row.sender),
        }
        watermark = moved[Kind(row.kind)]()
        self._chain.end_inputs(self._inputs.just_ended())
        if watermark is not None:
            self._chain.advance_watermark(watermark)
        if self._inputs.is_idle != was_idle:
            self._chain.set_idle(self._inputs.is_idle)
        if self._inputs.just_finished():
            self._chain.finish()
