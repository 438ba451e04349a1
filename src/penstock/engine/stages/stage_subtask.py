"""A subtask of stage 1 and later: gathers its inputs, runs its chains on them, stages state, sends on."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain as chain_iterables

from penstock.common.fail_points import reach
from penstock.common.logs import job_logger
from penstock.engine.stages.arrival import arrived
from penstock.engine.stages.chain import ChainInstance
from penstock.engine.stages.chain_inputs import ChainInputs
from penstock.engine.stages.compiled import CompiledEdge, CompiledJob
from penstock.engine.stages.envelope import NO_EDGE, Envelope, Kind
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.engine.stages.gather import Gather
from penstock.engine.stages.messages import Done
from penstock.engine.stages.outcome import (
    abort_markers,
    abort_rows,
    collect_counts,
    collect_watermarks,
    message_row,
    taken_times,
)
from penstock.engine.stages.sorted_input import SortedInput
from penstock.engine.stages.subtask_state import SubtaskState
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.runtime.metrics import MetricGroup
from penstock.state.memory import MemoryStore
from penstock.state.state_sizes import sizes_of_operators
from penstock.state.store import StateStore

_INT64 = struct.Struct("<q")


@dataclass(frozen=True)
class _EpochRows:
    """The rows of one task in one epoch: what must be sorted by key, and all else."""

    gathered: Gather
    sorted: Sequence[SortedInput]

    def add(self, row: Envelope) -> None:
        if row.kind == Kind.DATA:
            for each in self.sorted:
                if each.takes(row.edge):
                    each.add(row)
                    return
        self.gathered.add(row)

    def close(self) -> None:
        self.gathered.close()
        for each in self.sorted:
            each.close()


class StageSubtask:
    """One subtask of a stage: the chains it hosts and their state, kept between epochs."""

    def __init__(self, job: CompiledJob, environment: TaskEnvironment, stage: int, subtask: int, run: int) -> None:
        self._job = job
        self._environment = environment
        self._stage = stage
        self._subtask = subtask
        self._run = run
        self._state: SubtaskState | None = None
        self._is_released = False
        self._chains: list[ChainInstance] = []
        self._inputs: list[ChainInputs] = []
        self._by_edge: dict[int, tuple[ChainInstance, ChainInputs, CompiledEdge]] = {}
        self.metrics = MetricGroup()
        self.about = job.what_runs(stage, subtask)
        self._logger = job_logger(**self.about)

    def run(self, header: EpochHeader, incoming: Iterable[Envelope]) -> Iterator[Envelope]:
        """Does this subtask's share of the epoch; the last row is the `Done` message."""
        rows_in = self._epoch_rows()
        try:
            aborted = False
            for row in incoming:
                if row.kind == Kind.ABORT:
                    aborted = True
                elif row.edge == NO_EDGE or self._job.edges[row.edge].target_level != self._stage:
                    yield row
                else:
                    rows_in.add(row)
            if aborted:
                yield from abort_markers(self._job.stage_parallelism, self._stage, self._subtask)
                return
            if self._subtask >= self._job.stage_parallelism[self._stage]:
                return
            reach("task.gathered")
            yield from self._work(header, rows_in)
        except (Exception, SystemExit) as error:
            self._logger.bind(epoch=header.epoch.number).warning("the epoch is aborted: %s", type(error).__name__)
            self.release()
            yield from abort_rows(
                error, self._job.stage_parallelism, stage=self._stage, subtask=self._subtask, header=header
            )
        finally:
            rows_in.close()

    def must_start_anew(self, header: EpochHeader) -> bool:
        """Whether functions here remember what is not, or may not be, what the epoch starts from.

        Union lists are what all subtasks have saved: functions that use them take them up in every epoch, all alike.
        """
        if header.bounded:
            # Batch execution is one epoch: what has worked before is another attempt at it.
            return self._state is not None
        if self._is_released:
            return True
        if self._state is None or not any(chain.has_checkpointed_functions for chain in self._chains):
            return False
        return any(chain.union_lists() for chain in self._chains) or not self._state.continues(header)

    def fetched_bytes(self) -> int:
        """What was read of the state from the checkpoint for the epoch under way, because it was not here."""
        return 0 if self._state is None else self._state.fetched_bytes

    def operator_times(self) -> dict[str, float]:
        """How many ms each operator has worked since the last call, by uid."""
        return taken_times(self._chains)

    def close(self) -> None:
        """The end of the job."""
        for chain in self._chains:
            chain.close()
        if self._state is not None:
            self._state.close()

    def _epoch_rows(self) -> _EpochRows:
        chains = [chain for chain in self._job.chains_of(self._stage, self._subtask) if chain.sorted_inputs]
        share = self._environment.gather_memory // (1 + len(chains))
        return _EpochRows(
            Gather(lambda edge: self._job.edges[edge].is_broadcast, share),
            [SortedInput(chain.sorted_inputs, share) for chain in chains],
        )

    def _work(self, header: EpochHeader, rows_in: _EpochRows) -> Iterator[Envelope]:
        state = self._open(header)
        rows: list[Envelope] = []
        received: dict[int, int] = {}
        staging = header.staging(self._stage, self._subtask, "sinks")
        for chain in self._chains:
            chain.begin_epoch(header.epoch, header.now, staging)
            chain.set_writers(self._subtask, rows)
            chain.advance_processing_time(header.now)
        for inputs in self._inputs:
            inputs.announce(rows_in.gathered.channels())
        for _ in chain_iterables(
            self._take(rows_in.gathered.broadcast_in_order(), header, received),
            *(self._take_sorted(sorted_input, received) for sorted_input in rows_in.sorted),
            self._take(rows_in.gathered.in_order(), header, received),
        ):
            yield from rows
            rows.clear()
        for chain, inputs in zip(self._chains, self._inputs, strict=True):
            chain.advance_processing_time(header.now)
            if not header.bounded:
                chain.snapshot_functions()
            chain.end_epoch()
            inputs.save(state.store)
        yield from rows
        head = None if header.bounded else state.stage(header, self._clean_up_before_snapshot)
        yield message_row(self._done(state, head, received))

    def _take(self, ordered: Iterable[Envelope], header: EpochHeader, received: dict[int, int]) -> Iterator[None]:
        """Works on rows as they come."""
        for row in ordered:
            chain, inputs, edge = self._by_edge[row.edge]
            if row.kind == Kind.DATA:
                batch = arrived(edge, row.payload)
                received[edge.number] = received.get(edge.number, 0) + batch.records
                chain.process(batch, edge)
            elif row.kind == Kind.PARTIALS:
                records = chain.process_partials(row.payload)
                received[edge.number] = received.get(edge.number, 0) + records
            else:
                self._control(chain, inputs, row, header)
            yield

    def _take_sorted(self, sorted_input: SortedInput, received: dict[int, int]) -> Iterator[None]:
        """Works on records key by key."""
        received.update(sorted_input.records)
        chain: ChainInstance | None = None
        current: bytes | None = None
        for key, edge, batch in sorted_input.in_order():
            if chain is None:
                chain, _, _ = self._by_edge[edge.number]
            elif key != current:
                chain.end_key()
            current = key
            chain.process(batch, edge)
            yield
        if chain is not None:
            chain.end_key()
            chain.flush_head()
            chain.count_combined(sorted_input.combined)

    def _control(self, chain: ChainInstance, inputs: ChainInputs, row: Envelope, header: EpochHeader) -> None:
        watermark: int | None = None
        was_idle = inputs.is_idle
        if row.kind == Kind.END:
            watermark = inputs.end(row.edge, row.sender)
        elif header.bounded:
            # Batch execution has all records before it looks at any: event time goes from its beginning to its end.
            return
        elif row.kind == Kind.WATERMARK:
            watermark = inputs.watermark(row.edge, row.sender, _INT64.unpack(row.payload)[0])
        elif row.kind == Kind.IDLE:
            watermark = inputs.idle(row.edge, row.sender)
        if row.kind == Kind.END:
            chain.end_inputs(inputs.just_ended())
        if watermark is not None:
            chain.advance_watermark(watermark)
        if inputs.is_idle != was_idle:
            chain.set_idle(inputs.is_idle)
        if inputs.just_finished():
            chain.finish()

    def _done(self, state: SubtaskState, head: str | None, received: dict[int, int]) -> Done:
        tokens: dict[str, list[object]] = {}
        sent: dict[str, int] = {}
        timers = [chain.next_processing_timer() for chain in self._chains]
        for chain in self._chains:
            tokens.update(chain.tokens())
            sent.update({str(edge): writer.records_sent for edge, writer in chain.writers.items()})
        return Done(
            stage=self._stage,
            subtask=self._subtask,
            head=head,
            tokens=tokens,
            sent=sent,
            received={str(edge): count for edge, count in sorted(received.items())},
            operators=collect_counts(self._chains),
            watermarks=collect_watermarks(self._chains),
            idle=tuple(uid for chain in self._chains for uid in chain.idle_generators()),
            next_timer=min((timer for timer in timers if timer is not None), default=None),
            state_bytes=state.staged_bytes,
            state_sizes=sizes_of_operators(state.sizes, (uid for chain in self._chains for uid, _ in chain.counts())),
            union_lists={key: text for chain in self._chains for key, text in chain.union_lists().items()},
        )

    def _open(self, header: EpochHeader) -> SubtaskState:
        """State as of the parent manifest; what is kept in memory is used only if it is the same state."""
        if self._state is None:
            store = self._open_store(header)
            snapshots = self._environment.open_snapshots(header.epoch.incarnation, self._stage, self._subtask)
            self._state = SubtaskState(store, snapshots, self._environment.storage, self._stage, self._subtask)
        continues = self._state.bring_to_parent(header)
        if not self._chains:
            self._build_chains(header, self._state)
        if not continues:
            self._logger.bind(epoch=header.epoch.number).debug("state is read from the store: %s", self._state.parent)
            for chain, inputs in zip(self._chains, self._inputs, strict=True):
                chain.drop_caches()
                inputs.load(self._state.store)
                chain.restore_watermark(inputs.current_watermark)
                chain.end_inputs(inputs.just_ended())
        return self._state

    def _clean_up_before_snapshot(self) -> None:
        for chain in self._chains:
            chain.clean_up_before_snapshot()

    def _open_store(self, header: EpochHeader) -> StateStore:
        """Batch execution keeps no state beyond its one epoch: what keys have is gone with them, the rest is little."""
        if header.bounded:
            return MemoryStore()
        return self._environment.open_store(header.epoch.incarnation, self._stage, self._subtask)

    def _build_chains(self, header: EpochHeader, state: SubtaskState) -> None:
        for compiled in self._job.chains_of(self._stage, self._subtask):
            chain = ChainInstance(
                compiled,
                job_id=header.job_id,
                job_name=self._job.name,
                subtask=self._subtask,
                run=self._run,
                store=state.store,
                storage=self._environment.storage,
                metrics=self.metrics,
                epoch=header.epoch,
                watermark_interval=self._environment.watermark_interval,
                batch=self._job.batch,
                restored_epoch=None if state.parent is None else header.epoch.number - 1,
                union_lists=header.union_lists,
                resources=self._job.resources,
            )
            inputs = ChainInputs(compiled)
            self._chains.append(chain)
            self._inputs.append(inputs)
            self._by_edge |= {edge.number: (chain, inputs, edge) for edge in compiled.inputs}

    def release(self) -> None:
        """Forgets everything without a word to user code: after a failure nothing kept in memory is trusted."""
        self._is_released = True
        if self._state is not None:
            self._state.close()
        self._state = None
        self._chains.clear()
        self._inputs.clear()
        self._by_edge.clear()
