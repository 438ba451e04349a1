"""A subtask of a later stage in an epoch in which records flow: works on rows as they come."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

from penstock.common.errors import PenstockError
from penstock.common.logs import job_logger
from penstock.common.slow_steps import SlowSteps
from penstock.engine.pipelined.control_rows import partitions_of, tick_rows
from penstock.engine.pipelined.listening import Listening
from penstock.engine.pipelined.live_header import END_OF_ROUND, LiveHeader
from penstock.engine.pipelined.processing_clock import ProcessingClock
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import NO_EDGE, Envelope, Kind
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.engine.stages.outcome import abort_rows, message_row
from penstock.engine.stages.stage_subtask import StageSubtask
from penstock.engine.stages.subtask_state import SubtaskState
from penstock.engine.stages.task_environment import TaskEnvironment


class InputLostError(PenstockError):
    """The rows of the stage before come no more: what ended it says why, and this task has nothing to report."""


def received(rows: Iterable[Envelope]) -> Iterator[Envelope]:
    """The rows that Spark delivers; whatever keeps it from that is no failure of this task."""
    try:
        yield from rows
    except Exception as error:
        raise InputLostError(f"the stage before has been lost: {error}") from error


def rows_of_epoch(rows: Iterator[Envelope], senders: int) -> Iterator[Envelope]:
    """The next rows, until so many tasks of the stage before have said that they have no more in this epoch."""
    ended = 0
    for row in rows:
        if row.kind != Kind.PUSH:
            yield row
        if row.kind == Kind.END_OF_EPOCH:
            ended += 1
            if ended == senders:
                return
    raise InputLostError("the stage before has ended in the middle of an epoch")


def noticing_silence(rows: Iterable[Envelope], slow_steps: SlowSteps) -> Iterator[Envelope]:
    """The rows; says so where none came for long. Ticks come many times a second: that is no lack of records."""
    # Until the first one comes, tasks of the stage before may have to start.
    since = math.inf
    for row in rows:
        slow_steps.took(slow_steps.clock() - since, "for %.1f s nothing came from the stage before, not even a tick")
        yield row
        since = slow_steps.clock()


class LiveStageSubtask(StageSubtask):
    """Channels come interleaved, each in its own order, as they do in Flink; there is no order over all of them."""

    def __init__(self, job: CompiledJob, environment: TaskEnvironment, stage: int, subtask: int, run: int) -> None:
        super().__init__(job, environment, stage, subtask, run)
        self._slow_steps = SlowSteps(job_logger(**self.about))

    def run(self, header: EpochHeader, incoming: Iterable[Envelope]) -> Iterator[Envelope]:
        """Does this subtask's share of the epoch; the last row is the `Done` message."""
        assert isinstance(header, LiveHeader)
        try:
            yield from self._flow(header, noticing_silence(incoming, self._slow_steps))
        except InputLostError:
            self.release()
            raise
        except (Exception, SystemExit) as error:
            self._logger.bind(epoch=header.epoch.number).warning("the epoch is aborted: %s", type(error).__name__)
            self.release()
            yield from abort_rows(
                error, self._job.stage_parallelism, stage=self._stage, subtask=self._subtask, header=header
            )

    def _flow(self, header: LiveHeader, incoming: Iterable[Envelope]) -> Iterator[Envelope]:
        rows: list[Envelope] = []
        received: dict[int, int] = {}
        clock = ProcessingClock(header.now)
        works = self._subtask < self._job.stage_parallelism[self._stage]
        state = self._begin(header, rows, clock) if works else None
        listening = Listening(partitions_of(self._job.stage_parallelism, self._stage - 1), clock.now)
        next_tick = 0.0
        for row in self._taken(incoming, clock, listening):
            if row.kind == Kind.TICK:
                for chain in self._chains:
                    chain.advance_processing_time(clock.now)
                    chain.time_passes()
                now = time.monotonic()
                # Every task of the stage before sends ticks: some of them are enough for the next.
                if now >= next_tick:
                    next_tick = now + header.live.tick_seconds * 0.8
                    rows += tick_rows(self._job.stage_parallelism, self._stage, self._subtask, listening.ms)
            elif row.edge == NO_EDGE or self._job.edges[row.edge].target_level != self._stage:
                yield row
                if row.edge != NO_EDGE:
                    yield END_OF_ROUND
                continue
            else:
                for _ in self._take((row,), header, received):
                    pass
            for chain in self._chains:
                chain.flush_writers()
            if rows:
                yield from rows
                rows.clear()
                yield END_OF_ROUND
        if state is not None:
            yield from self._finish_epoch(header, state, clock.now, rows, received)

    def _taken(self, incoming: Iterable[Envelope], clock: ProcessingClock, listening: Listening) -> Iterator[Envelope]:
        """The rows, each at its time; that some wait while there is work on others is no silence of theirs."""
        for row in incoming:
            clock.advance(self._chains)
            if row.kind == Kind.END_OF_EPOCH:
                listening.ended(row.sender)
                continue
            if row.kind == Kind.TICK:
                listening.tick(row.sender, row.seq)
                self._listen(clock, listening)
            yield row
        clock.advance(self._chains)
        self._listen(clock, listening)

    def _listen(self, clock: ProcessingClock, listening: Listening) -> None:
        missed = listening.missed(clock.now)
        for chain in self._chains:
            chain.records_waited(missed)

    def _begin(self, header: LiveHeader, rows: list[Envelope], clock: ProcessingClock) -> SubtaskState:
        state = self._open(header)
        staging = header.staging(self._stage, self._subtask, "sinks")
        for chain in self._chains:
            chain.begin_epoch(header.epoch, header.now, staging)
            chain.set_writers(self._subtask, rows)
            chain.advance_processing_time(header.now)
        clock.advance(self._chains)
        for chain, inputs in zip(self._chains, self._inputs, strict=True):
            chain.time_goes_on(anew=header.is_first)
            if header.is_first:
                inputs.start_anew()
            inputs.announce(
                (edge, split)
                for source, splits in header.splits.items()
                for edge in self._edges_from(source)
                for split in splits
            )
        return state

    def _edges_from(self, source: int) -> list[int]:
        return [edge.number for edge in self._job.source_chains[source].outputs if edge.number in self._by_edge]

    def _finish_epoch(
        self, header: LiveHeader, state: SubtaskState, now: int, rows: list[Envelope], received: dict[int, int]
    ) -> Iterator[Envelope]:
        for chain, inputs in zip(self._chains, self._inputs, strict=True):
            chain.advance_processing_time(now)
            chain.snapshot_functions()
            chain.end_epoch()
            inputs.save(state.store)
        yield from rows
        head = state.stage(header, self._clean_up_before_snapshot)
        yield message_row(self._done(state, head, received))
