"""A subtask of stage 1 and later: gathers its inputs, runs its chains on them, stages state, sends on."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from penstock.common.codecs import codec_for
from penstock.common.fail_points import reach
from penstock.common.logs import job_logger
from penstock.engine.stages import payload
from penstock.engine.stages.chain import ChainInstance
from penstock.engine.stages.chain_inputs import ChainInputs
from penstock.engine.stages.compiled import CompiledEdge, CompiledJob
from penstock.engine.stages.envelope import NO_EDGE, Envelope, Kind
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.engine.stages.gather import Gather
from penstock.engine.stages.messages import Done
from penstock.engine.stages.outcome import abort_markers, abort_rows, collect_counts, message_row
from penstock.engine.stages.subtask_state import SubtaskState
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.operator import MAX_WATERMARK

_INT64 = struct.Struct("<q")
_BOUNDED_COMMIT_RECORDS = 1_000_000


class StageSubtask:
    """One subtask of a stage: the chains it hosts and their state, kept between epochs."""

    def __init__(self, job: CompiledJob, environment: TaskEnvironment, stage: int, subtask: int, run: int) -> None:
        self._job = job
        self._environment = environment
        self._stage = stage
        self._subtask = subtask
        self._run = run
        self._state: SubtaskState | None = None
        self._chains: list[ChainInstance] = []
        self._inputs: list[ChainInputs] = []
        self._by_edge: dict[int, tuple[ChainInstance, ChainInputs, CompiledEdge]] = {}
        self.metrics = MetricGroup()
        names = "; ".join(chain.name for chain in job.chains_of(stage, subtask))
        self._logger = job_logger(job.name, names, subtask, stage=stage)

    def run(self, header: EpochHeader, incoming: Iterable[Envelope]) -> Iterator[Envelope]:
        """Does this subtask's share of the epoch; the last row is the `Done` message."""
        gather = Gather(lambda edge: self._job.edges[edge].is_broadcast, self._environment.gather_memory)
        try:
            aborted = False
            for row in incoming:
                if row.kind == Kind.ABORT:
                    aborted = True
                elif row.edge == NO_EDGE or self._job.edges[row.edge].target_level != self._stage:
                    yield row
                else:
                    gather.add(row)
            if aborted:
                yield from abort_markers(self._job.stage_parallelism, self._stage, self._subtask)
                return
            if self._subtask >= self._job.stage_parallelism[self._stage]:
                return
            reach("task.gathered")
            yield from self._work(header, gather)
        except Exception as error:
            self._logger.bind(epoch=header.epoch.number).warning("the epoch is aborted: %s", type(error).__name__)
            self.release()
            yield from abort_rows(
                error, self._job.stage_parallelism, stage=self._stage, subtask=self._subtask, header=header
            )
        finally:
            gather.close()

    def close(self) -> None:
        """The end of the job."""
        for chain in self._chains:
            chain.close()
        if self._state is not None:
            self._state.close()

    def _work(self, header: EpochHeader, gather: Gather) -> Iterator[Envelope]:
        state = self._open(header)
        rows: list[Envelope] = []
        received: dict[int, int] = {}
        staging = header.staging(self._stage, self._subtask, "sinks")
        for chain in self._chains:
            chain.begin_epoch(header.epoch, header.now, staging)
            chain.set_writers(self._subtask, rows)
            chain.advance_processing_time(header.now)
        uncommitted = 0
        for row in gather.in_order():
            chain, inputs, edge = self._by_edge[row.edge]
            if row.kind == Kind.DATA:
                batch = payload.decode(codec_for(edge.record_type), row.payload)
                received[edge.number] = received.get(edge.number, 0) + len(batch)
                uncommitted += len(batch)
                chain.process(batch, edge)
            else:
                self._control(chain, inputs, row, header)
            if header.bounded and uncommitted >= _BOUNDED_COMMIT_RECORDS:
                self._commit_locally(state, header)
                uncommitted = 0
            yield from rows
            rows.clear()
        for chain, inputs in zip(self._chains, self._inputs, strict=True):
            chain.advance_processing_time(header.now)
            chain.end_epoch()
            inputs.save(state.store)
        yield from rows
        head = None if header.bounded else state.stage(header)
        yield message_row(self._done(state, head, received))

    def _control(self, chain: ChainInstance, inputs: ChainInputs, row: Envelope, header: EpochHeader) -> None:
        watermark: int | None = None
        if row.kind == Kind.WATERMARK:
            watermark = inputs.watermark(row.edge, row.sender, _INT64.unpack(row.payload)[0])
        elif row.kind == Kind.IDLE:
            watermark = inputs.idle(row.edge, row.sender)
        elif row.kind == Kind.END:
            watermark = inputs.end(row.edge, row.sender)
        if watermark is not None:
            chain.advance_watermark(watermark)
        if inputs.just_finished():
            if header.bounded:
                # As in Flink: batch execution waits for no clock, timers that are still pending fire at the end.
                chain.advance_processing_time(MAX_WATERMARK)
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
            next_timer=min((timer for timer in timers if timer is not None), default=None),
            state_bytes=state.staged_bytes,
        )

    def _open(self, header: EpochHeader) -> SubtaskState:
        """State as of the parent manifest; what is kept in memory is used only if it is the same state."""
        if self._state is None:
            store = self._environment.open_store(header.epoch.incarnation, self._stage, self._subtask)
            self._state = SubtaskState(store, self._environment.storage, self._stage, self._subtask)
        continues = self._state.bring_to_parent(header)
        if not self._chains:
            self._build_chains(header, self._state)
        if not continues:
            self._logger.bind(epoch=header.epoch.number).debug("state is read from the store: %s", self._state.parent)
            for chain, inputs in zip(self._chains, self._inputs, strict=True):
                chain.drop_caches()
                inputs.load(self._state.store)
                chain.restore_watermark(inputs.current_watermark)
        return self._state

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
            )
            inputs = ChainInputs(compiled)
            self._chains.append(chain)
            self._inputs.append(inputs)
            self._by_edge |= {edge.number: (chain, inputs, edge) for edge in compiled.inputs}

    def _commit_locally(self, state: SubtaskState, header: EpochHeader) -> None:
        """Batch execution keeps no history: state moves to the local store so that memory stays bounded."""
        for chain in self._chains:
            chain.end_epoch()
            chain.drop_caches()
        state.store.apply(state.store.changes(), f"bounded-{header.epoch}")
        state.store.discard_changes()

    def release(self) -> None:
        """Forgets everything without a word to user code: after a failure nothing kept in memory is trusted."""
        if self._state is not None:
            self._state.close()
        self._state = None
        self._chains.clear()
        self._inputs.clear()
        self._by_edge.clear()
