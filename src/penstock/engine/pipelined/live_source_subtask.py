"""Stage 0 of an epoch in which records flow: follows splits and sends on what comes, until the epoch's time is up."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter

from penstock.common.batch import Batch
from penstock.common.errors import CheckpointUnavailableError, FencedError, UserFunctionError
from penstock.common.logs import job_logger
from penstock.common.slow_steps import SlowSteps
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.live_source import LiveReader, LiveSource
from penstock.engine.pipelined.control_rows import tick_rows
from penstock.engine.pipelined.live_amounts import PollAmount
from penstock.engine.pipelined.live_header import END_OF_ROUND, LiveHeader
from penstock.engine.pipelined.live_word import DriverLostError, check_driver, leave_word, word_at
from penstock.engine.pipelined.processing_clock import ProcessingClock
from penstock.engine.stages.chain import ChainInstance
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import SOURCE_SENDER, Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.messages import ReadProgress
from penstock.engine.stages.outcome import abort_rows, message_row
from penstock.engine.stages.source_task import SourceSubtask, add_sent, take_broken
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.plan.nodes import SourceNode
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import MIN_WATERMARK, OperatorContext
from penstock.runtime.timestamps_and_watermarks import TimestampsAndWatermarks

_LOOK_SECONDS = 0.2
"""How often a task looks whether the driver wants the epoch to end, and is there."""
_TURN_SECONDS = 0.002
"""How long a task waits for records of one source where it follows several: those of the others wait meanwhile."""


class _FollowedSplit:
    """One split at work: the chain is that of its source, the channels and event time are its own."""

    def __init__(
        self,
        planned: PlannedRead,
        chain: ChainInstance,
        times: TimestampsAndWatermarks | None,
        rows: list[Envelope],
        has_more: Callable[[], bool],
    ) -> None:
        self.planned = planned
        self.chain = chain
        self.times = times
        self._has_more = has_more
        chain.set_writers(planned.split, rows)
        self.writers = chain.writers
        self.watermark = MIN_WATERMARK if times is None else times.watermark
        self.records = 0
        self.broken = 0
        """How many records more there were that could not be read."""
        self.has_ended = False

    def take(self, batch: Batch) -> None:
        """Works on records that have come."""
        self._enter()
        self.records += len(batch)
        if self.times is None:
            self.chain.emit_from_source(batch)
        else:
            self.times.process(batch)
        self._leave()

    def take_broken(self, broken: BrokenRecords | None) -> bool:
        """Sends on what could not be read; whether there was something."""
        self._enter()
        count = take_broken(broken, self.chain)
        self.broken += count
        return count > 0

    def tick(self) -> None:
        """Asks for the watermark of what has come, or finds that the split is silent."""
        if self.times is not None:
            self._enter()
            self.times.tick(self._has_more)
            self._leave()

    def go_on(self, *, anew: bool) -> None:
        """The split is watched again; nobody has looked since the last epoch, or since the job was stopped."""
        if self.times is not None:
            self.times.go_on(anew=anew)

    def announce(self) -> None:
        """Says where event time stands."""
        if self.times is not None:
            self._enter()
            self.times.announce()
            self._leave()

    def flush(self) -> None:
        """Packs what waits on the edges."""
        for writer in self.writers.values():
            writer.flush()

    def end(self) -> None:
        """The split has no more records, for ever."""
        self.has_ended = True
        for writer in self.writers.values():
            writer.end()

    def _enter(self) -> None:
        self.chain.writers = self.writers
        self.chain.restore_watermark(self.watermark)

    def _leave(self) -> None:
        self.watermark = self.chain.watermarks[self.planned.source]


@contextmanager
def _work_of(context: OperatorContext) -> Generator[None]:
    """Names the source in the report of what goes wrong in it, or in its chain."""
    try:
        yield
    except UserFunctionError:
        raise
    except Exception as error:
        raise user_function_error(error, context) from error


class LiveSourceSubtask(SourceSubtask):
    """One task of stage 0: the readers and chains it keeps between epochs."""

    def __init__(self, job: CompiledJob, environment: TaskEnvironment, subtask: int, run: int) -> None:
        super().__init__(job, environment, subtask, run)
        self._live_readers: dict[int, LiveReader] = {}
        self._amounts: dict[int, PollAmount] = {}
        self._slow_steps = SlowSteps(job_logger(**self.about))

    def run(self, header: EpochHeader, reads: Sequence[PlannedRead]) -> Iterator[Envelope]:
        """Does this task's share of the epoch; the last row is the `Done` message."""
        assert isinstance(header, LiveHeader)
        rows: list[Envelope] = []
        sent: dict[int, int] = {}
        # All that they had was sent in epochs before: nobody is to wait for the end of this one.
        had_ended = [source for source in header.ended_sources if source not in header.splits]
        try:
            chains = self._chains_for(header, reads)
            splits = self._start(header, reads, chains, rows)
            self._end_sources([chains[source] for source in had_ended], sent, rows)
            yield from rows
            rows.clear()
            yield END_OF_ROUND
            for _ in self._follow(header, splits, list(chains.values()), rows):
                yield from rows
                rows.clear()
                yield END_OF_ROUND
            progress = self._end(splits, sent)
            self._end_sources([chains[each] for each in header.ended_sources if each not in had_ended], sent, rows)
            done = self._finish(list(chains.values()), tuple(progress), sent)
        except DriverLostError:
            # Nobody waits for a report, and what is sent from here on is sent again by the next driver.
            self.release()
            raise
        except (Exception, SystemExit) as error:
            yield from abort_rows(error, self._job.stage_parallelism, stage=0, subtask=self._subtask, header=header)
            self.release()
            return
        yield from rows
        yield message_row(done)

    def close(self) -> None:
        """The end of the job."""
        for reader in self._live_readers.values():
            reader.close()
        super().close()

    def release(self) -> None:
        """Forgets everything without a word to user code."""
        for reader in self._live_readers.values():
            reader.close()
        self._live_readers.clear()
        super().release()

    def _start(
        self,
        header: LiveHeader,
        reads: Sequence[PlannedRead],
        chains: dict[int, ChainInstance],
        rows: list[Envelope],
    ) -> dict[int, list[_FollowedSplit]]:
        """The splits of each source; consumers hear at once where event time stands in them."""
        splits: dict[int, list[_FollowedSplit]] = {}
        # The epoch's time is that of the driver's plan: Spark and Python may have taken a while since.
        ProcessingClock(header.now).advance(chains.values())
        for planned in reads:
            chain = chains[planned.source]
            if planned.split == SOURCE_SENDER:
                chain.set_writers(planned.split, rows)
                chain.tell_idleness(planned.source, idle=True)
            elif planned.read is not None:
                of_source = splits.setdefault(planned.source, [])
                has_more = partial(self._has_more, planned.source, len(of_source))
                followed = _FollowedSplit(planned, chain, self._times_of(planned, header, chain), rows, has_more)
                followed.go_on(anew=header.is_first)
                followed.announce()
                of_source.append(followed)
        for source, of_source in splits.items():
            with _work_of(of_source[0].chain.contexts[source]):
                self._live_reader(source).follow(
                    [each.planned.read for each in of_source if each.planned.read is not None]
                )
        return splits

    def _follow(
        self,
        header: LiveHeader,
        splits: dict[int, list[_FollowedSplit]],
        chains: list[ChainInstance],
        rows: list[Envelope],
    ) -> Iterator[None]:
        """Takes what comes until the time is up; yields where `rows` are to be on their way."""
        live, everything = header.live, [each for of_source in splits.values() for each in of_source]
        clock, parent = ProcessingClock(header.now), os.getppid()
        watermark_seconds = self._environment.watermark_interval / 1000
        now = time.monotonic()
        began, end, next_tick, next_look, next_watermark = now, now + live.seconds, now, now, now + watermark_seconds
        # Where the chain ends in sinks, nothing waits for the buffer time-out.
        sends = any(each.writers for each in everything)
        pause = live.buffer_timeout if sends else 0.0
        most = header.most_records if sends and header.most_records is not None else sys.maxsize
        next_buffer = now
        is_over = False
        # A task that has nothing to follow leaves it to the others to last.
        while not is_over and now < end and not all(each.has_ended for each in everything):
            if now >= next_look:
                # What has come is taken all the same: a task that is slower than others must come further, too.
                is_over = word_at(self._environment.storage, header.end_mark) is not None
                check_driver(self._environment.storage, header.end_mark, parent)
                next_look = now + _LOOK_SECONDS
            due = now if is_over else min(end, next_tick)
            if now < min(due, next_buffer):
                # What comes now has to wait: it is worked on together.
                with self.waits.waiting():
                    time.sleep(min(due, next_buffer) - now)
                now = time.monotonic()
            left = most - sum(each.records + each.broken for each in everything)
            has_come = self._take_turns(splits, max(0.0, due - now), left, clock, chains)
            now = time.monotonic()
            if has_come:
                next_buffer = now + pause
                for each in everything:
                    each.flush()
                if sum(each.records + each.broken for each in everything) >= most:
                    self._end_for_all(header)
                    break
            if watermark_seconds and now >= next_watermark:
                next_watermark = now + watermark_seconds
                clock.advance(chains)
                for each in everything:
                    if not each.has_ended:
                        each.tick()
            if now >= next_tick:
                next_tick = now + live.tick_seconds
                rows += tick_rows(self._job.stage_parallelism, 0, self._subtask, int((now - began) * 1000))
            if rows:
                sent = self._slow_steps.clock()
                yield
                self._slow_steps.took(self._slow_steps.clock() - sent, "for %.1f s the stages behind took no rows")

    def _end_for_all(self, header: LiveHeader) -> None:
        """Later stages are to work through what was sent before there is more: no task goes on with the epoch."""
        # Where that cannot be said, the others end when their time is up.
        with suppress(FencedError, CheckpointUnavailableError):
            leave_word(self._environment.storage, header.end_mark)

    def _take_turns(
        self,
        splits: dict[int, list[_FollowedSplit]],
        seconds: float,
        most: int,
        clock: ProcessingClock,
        chains: list[ChainInstance],
    ) -> bool:
        """Takes what has come from each source; whether there was something."""
        followed = [each for each in splits.items() if not all(split.has_ended for split in each[1])]
        if len(followed) > 1:
            seconds = min(seconds / len(followed), _TURN_SECONDS)
        has_come = [
            self._take_arrived(source, of_source, seconds, most, clock, chains) for source, of_source in followed
        ]
        return any(has_come)

    def _take_arrived(
        self,
        source: int,
        splits: list[_FollowedSplit],
        seconds: float,
        most: int,
        clock: ProcessingClock,
        chains: list[ChainInstance],
    ) -> bool:
        reader, amount = self._live_reader(source), self._amounts.setdefault(source, PollAmount())
        with _work_of(splits[0].chain.contexts[source]):
            reader.most_records = min(amount.records, most)
            arrived = self._poll(reader, seconds, splits[0].chain)
            clock.advance(chains)
            began = perf_counter()
            for place, batch in arrived:
                splits[place].take(batch)
            has_broken = splits[0].take_broken(reader.broken_records)
            for place, each in enumerate(splits):
                if reader.finished(place) and not each.has_ended:
                    each.end()
            amount.worked(sum(len(batch) for _, batch in arrived), perf_counter() - began)
        return bool(arrived) or has_broken

    def _poll(self, reader: LiveReader, seconds: float, chain: ChainInstance) -> list[tuple[int, Batch]]:
        """What has come; what that took and was no wait is the source's work."""
        started, waited = perf_counter(), reader.waited
        arrived = reader.poll(seconds)
        waited = reader.waited - waited
        took = perf_counter() - started
        self.waits.add(waited)
        chain.times.add(chain.chain.head.uid, took - waited)
        self._slow_steps.took(took - seconds, "the source took %.1f s longer than it should to say what has come")
        return arrived

    def _end(self, splits: dict[int, list[_FollowedSplit]], sent: dict[int, int]) -> list[ReadProgress]:
        """How far every split has come; adds to `sent` how many records went out on each edge."""
        progress: list[ReadProgress] = []
        for source, of_source in splits.items():
            reader = self._live_readers[source]
            for place, each in enumerate(of_source):
                if not each.has_ended:
                    each.tick()
                each.flush()
                event_time = None if each.times is None or each.has_ended else each.times.progress().to_json()
                planned = each.planned
                with _work_of(each.chain.contexts[source]):
                    position = reader.position(place)
                progress.append(
                    ReadProgress(
                        source,
                        planned.split,
                        planned.split_id,
                        position,
                        each.has_ended,
                        each.records,
                        event_time,
                    )
                )
                add_sent(sent, each.writers)
        return progress

    def _has_more(self, source: int, place: int) -> bool:
        return self._live_readers[source].has_more(place)

    def _live_reader(self, source: int) -> LiveReader:
        if source not in self._live_readers:
            node = self._job.source_chains[source].head
            assert isinstance(node, SourceNode)
            assert isinstance(node.source, LiveSource)
            self._live_readers[source] = node.source.create_live_reader()
        return self._live_readers[source]
