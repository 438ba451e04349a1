"""Stage 0: reads splits, runs the source's chain on them and sends the results to the first exchange."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.common.errors import UserFunctionError
from penstock.common.fail_points import reach
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.source import SplitReader
from penstock.engine.stages.chain import ChainInstance
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.edge_writer import EdgeWriter
from penstock.engine.stages.envelope import SOURCE_SENDER, Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.input_waits import InputWaits
from penstock.engine.stages.messages import Done, ReadProgress
from penstock.engine.stages.outcome import abort_rows, collect_counts, message_row, taken_times
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.plan.nodes import SourceNode
from penstock.runtime.failures import user_function_error
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.operator import MIN_WATERMARK
from penstock.runtime.timestamps_and_watermarks import TimeProgress, TimestampsAndWatermarks
from penstock.state.memory import MemoryStore

BROKEN_RECORDS_METRIC = "num_records_in_errors"


class SourceSubtask:
    """One task of stage 0: the readers and chains it keeps between epochs."""

    def __init__(self, job: CompiledJob, environment: TaskEnvironment, subtask: int, run: int) -> None:
        self._job = job
        self._environment = environment
        self._subtask = subtask
        self._run = run
        self.about = job.what_runs(0, subtask)
        self._readers: dict[int, SplitReader] = {}
        self.is_released = False
        """Whether the object is of no use any more: its functions have seen an epoch that failed."""
        self._chains: dict[int, ChainInstance] = {}
        self._told: dict[tuple[int, int], int] = {}
        """Of splits whose source itself speaks of event time: how far it has come, as far as this task knows."""
        self.metrics = MetricGroup()
        self.waits = InputWaits()
        """Reading is work; only who follows a split waits for records."""

    def run(self, header: EpochHeader, reads: Sequence[PlannedRead]) -> Iterator[Envelope]:
        """Does this task's share of the epoch; the last row is the `Done` message."""
        rows: list[Envelope] = []
        sent: dict[int, int] = {}
        progress: list[ReadProgress] = []
        try:
            chains = self._chains_for(header, reads)
            for planned in reads:
                chain = chains[planned.source]
                chain.set_writers(planned.split, rows)
                for _ in self._work_on(planned, header, chain, progress):
                    yield from rows
                    rows.clear()
                add_sent(sent, chain.writers)
            self._end_sources([chains[source] for source in header.ended_sources], sent, rows)
            done = self._finish(list(chains.values()), tuple(progress), sent)
        except (Exception, SystemExit) as error:
            yield from abort_rows(error, self._job.stage_parallelism, stage=0, subtask=self._subtask, header=header)
            self.release()
            return
        yield from rows
        yield message_row(done)
        reach("task.read")

    def _work_on(
        self, planned: PlannedRead, header: EpochHeader, chain: ChainInstance, progress: list[ReadProgress]
    ) -> Iterator[None]:
        """What one split has for this epoch: its records, then how far event time has come, then its end."""
        if planned.split == SOURCE_SENDER:
            chain.tell_idleness(planned.source, idle=True)
            yield
            return
        times = self._times_of(planned, header, chain)
        take = chain.emit_from_source if times is None else times.process
        place = (planned.source, planned.split)
        if times is None:
            chain.restore_watermark(self._told.get(place, MIN_WATERMARK))
        position, finished, records, time = None, False, 0, None
        try:
            if planned.read is not None:
                reader = self._reader(planned.source)
                for batch in chain.reading(reader.read(planned.read, header.budget)):
                    records += len(batch)
                    if times is None:
                        _tell_watermark(reader, chain)
                    take(batch)
                    take_broken(reader.broken_records, chain)
                    yield
                take_broken(reader.broken_records, chain)
                if times is None:
                    _tell_watermark(reader, chain, although_known=True)
                    self._told[place] = chain.watermarks[planned.source]
                position, finished = reader.position, reader.finished
            if times is not None:
                times.tick()
                times.announce()
                time = times.progress().to_json()
        except UserFunctionError:
            raise
        except Exception as error:
            raise user_function_error(error, chain.contexts[planned.source]) from error
        if finished:
            self._told.pop(place, None)
            for writer in chain.writers.values():
                writer.end()
        chain.flush_writers()
        if finished or header.bounded:
            time = None
        progress.append(
            ReadProgress(planned.source, planned.split, planned.split_id, position, finished, records, time)
        )
        yield

    def _times_of(
        self, planned: PlannedRead, header: EpochHeader, chain: ChainInstance
    ) -> TimestampsAndWatermarks | None:
        node = chain.chain.head
        assert isinstance(node, SourceNode)
        if node.watermark_strategy is None:
            return None
        before = TimeProgress(quiet_since=header.now, asked_at=header.now)
        if planned.time is not None:
            before = TimeProgress(**planned.time)
        chain.restore_watermark(before.watermark)
        return TimestampsAndWatermarks(node.watermark_strategy, chain.contexts[node.id], before, is_split=True)

    def close(self) -> None:
        """The end of the job."""
        for reader in self._readers.values():
            reader.close()
        for chain in self._chains.values():
            chain.close()

    def _finish(self, chains: list[ChainInstance], progress: tuple[ReadProgress, ...], sent: dict[int, int]) -> Done:
        tokens: dict[str, list[object]] = {}
        for chain in chains:
            chain.end_epoch()
            for uid, staged in chain.tokens():
                tokens.setdefault(uid, []).extend(staged)
        return Done(
            stage=0,
            subtask=self._subtask,
            reads=progress,
            tokens=tokens,
            sent={str(edge): count for edge, count in sorted(sent.items())},
            operators=collect_counts(chains),
        )

    def _end_sources(self, chains: Iterable[ChainInstance], sent: dict[int, int], rows: list[Envelope]) -> None:
        """Tells the chains of sources that have no more records, for ever, and their consumers."""
        for chain in chains:
            chain.set_writers(SOURCE_SENDER - self._subtask, rows)
            # Every task hosts a part of the chain; the one whose rows are sorted last speaks for the source.
            chain.finish() if self._subtask == 0 else chain.finish_operators()
            chain.flush_writers()
            add_sent(sent, chain.writers)

    def _chains_for(self, header: EpochHeader, reads: Sequence[PlannedRead]) -> dict[int, ChainInstance]:
        wanted = {planned.source for planned in reads} | set(header.ended_sources)
        for source in sorted(wanted - self._chains.keys()):
            self._chains[source] = ChainInstance(
                self._job.source_chains[source],
                job_id=header.job_id,
                job_name=self._job.name,
                subtask=self._subtask,
                run=self._run,
                store=MemoryStore(),
                storage=self._environment.storage,
                metrics=self.metrics,
                epoch=header.epoch,
                watermark_interval=self._environment.watermark_interval,
                batch=self._job.batch,
                resources=self._job.resources,
            )
        chains = {source: self._chains[source] for source in sorted(wanted)}
        for chain in chains.values():
            chain.begin_epoch(header.epoch, header.now, header.staging(0, self._subtask, "sinks"))
        return chains

    def _reader(self, source: int) -> SplitReader:
        if source not in self._readers:
            node = self._job.source_chains[source].head
            assert isinstance(node, SourceNode)
            self._readers[source] = node.source.create_reader()
        return self._readers[source]

    def operator_times(self) -> dict[str, float]:
        """How many ms each operator has worked since the last call, by uid."""
        return taken_times(self._chains.values())

    def release(self) -> None:
        """Forgets everything without a word to user code: after a failure nothing kept in memory is trusted."""
        self.is_released = True
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
        self._chains.clear()
        self._told.clear()


def add_sent(sent: dict[int, int], writers: Mapping[int, EdgeWriter]) -> None:
    """Adds how many records writers have sent, by edge."""
    for edge, writer in writers.items():
        sent[edge] = sent.get(edge, 0) + writer.records_sent


def take_broken(broken: BrokenRecords | None, chain: ChainInstance) -> int:
    """Counts records that the reader could not read, and sends them to their side output where they have one.

    Returns how many there were.
    """
    if broken is None:
        return 0
    count, records = broken.take()
    if count:
        chain.contexts[chain.chain.head.id].metrics.counter(BROKEN_RECORDS_METRIC).inc(count)
    if records is not None:
        tag = broken.tag
        assert tag is not None
        chain.emit_side_from_source(tag.tag_id, records)
    return count


def _tell_watermark(reader: SplitReader, chain: ChainInstance, *, although_known: bool = False) -> None:
    """Passes on what the source itself says of event time.

    Where it has not risen it is told all the same at the end: consumers count a split once they have heard of it.
    """
    source = chain.chain.head.id
    if reader.watermark is not None and (although_known or reader.watermark > chain.watermarks[source]):
        chain.tell_watermark(source, reader.watermark)
