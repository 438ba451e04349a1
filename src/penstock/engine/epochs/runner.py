"""The driver loop: plan an epoch, run it, check it, commit it, publish it."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

from penstock.common.errors import (
    CheckpointError,
    CheckpointUnavailableError,
    FencedError,
    IncompleteEpochError,
    JobExecutionException,
    PenstockError,
    StateCorruptionError,
)
from penstock.common.fail_points import reach
from penstock.common.logs import job_logger
from penstock.connectors.sink import EpochId
from penstock.engine.epochs.completeness import check_complete
from penstock.engine.epochs.driver_pauses import DriverPauses
from penstock.engine.epochs.driver_presence import DriverPresence, StandBy, Turn
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.epoch_counts import added, operator_counts, state_sizes
from penstock.engine.epochs.epoch_pace import EpochPace
from penstock.engine.epochs.epoch_settings import EpochSettings
from penstock.engine.epochs.epoch_times import EpochTimes, SlowEpochs
from penstock.engine.epochs.failures import described, is_final
from penstock.engine.epochs.manifest import EPOCH, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.processing_time import ProcessingTime
from penstock.engine.epochs.progress import JobProgress
from penstock.engine.epochs.publisher import Publisher
from penstock.engine.epochs.replay_records import FailedEpoch, save_failed_epoch
from penstock.engine.epochs.restarts import NoRestart, RestartPolicy
from penstock.engine.epochs.restorable import say_what_is_left
from penstock.engine.epochs.retention import remove_unneeded
from penstock.engine.epochs.savepoints import SavepointRequest, SavepointRequests
from penstock.engine.epochs.source_coordinator import EpochInput, SourceCoordinator, assign_to_tasks
from penstock.engine.epochs.spreading import Spread, in_this_process
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageExecutor, StageResults
from penstock.engine.epochs.starting_state import JobIdentity, StartingState, StateRecovery
from penstock.engine.epochs.waiting_output import held_output
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.messages import Done
from penstock.state.index import write_index
from penstock.state.storage import CheckpointStorage

_RETENTION_EVERY = 20
_CANCEL_SECONDS = 10.0
"""How long an epoch may take to end when the job is cancelled; what it has done is lost after that."""


class EpochRunner:
    """Runs one job from its newest manifest until its sources end, it is cancelled or it fails."""

    def __init__(
        self,
        job: CompiledJob,
        identity: JobIdentity,
        storage: CheckpointStorage,
        settings: EpochSettings,
        executor_for: Callable[[str], StageExecutor],
        *,
        restarts: RestartPolicy | None = None,
        recovery: StateRecovery | None = None,
        spread: Spread = in_this_process,
        clock: Callable[[], int] = lambda: int(time.time() * 1000),
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._job = job
        self._identity = identity
        self._storage = storage
        self._settings = settings
        self._executor_for = executor_for
        self._executor: StageExecutor | None = None
        self._restarts = restarts or NoRestart()
        self.is_restarting = False
        """Whether the job has failed and waits to go on."""
        self._clock = clock
        self._time = ProcessingTime(clock)
        self._wait = wait
        self._cancelled = threading.Event()
        self._token = token = uuid.uuid4().hex
        self._log = ManifestLog(storage, token)
        self._pauses = DriverPauses(self._cancelled, wait, self._log, settings)
        self._starting = StartingState(job, storage, self._log, identity, recovery or StateRecovery(), spread)
        self.savepoints = SavepointRequests(storage, spread)
        """Savepoints of the running job, for whoever asks for them."""
        self._asked: list[SavepointRequest] = []
        """Those that the epoch under way is for."""
        self.when_caught_up: SavepointRequest | None = None
        """Asked for when there is nothing left to read."""
        beat = settings.presence_interval_ms
        self._presence = None if beat is None else DriverPresence(storage, token, beat / 1000)
        self.is_standing_by = False
        """Whether the job waits for another driver's end."""
        self.owns_job = False
        """Whether this driver is the last that has taken the job over, as far as it knows."""
        self._has_started = False
        self._retention: Future[None] | None = None
        self._uncleaned = 0
        """How many epochs have come since old files were last removed."""
        self._run = 0
        self._left_behind: Collection[str] = ()
        """The uids of sinks whose output nobody publishes: the program has others, and its options say so."""
        self._heads: dict[tuple[int, int], str] | None = None
        """The heads in the newest index, where this driver wrote it."""
        self._writers = ThreadPoolExecutor(4, thread_name_prefix="penstock-commit")
        self._pace = EpochPace(settings.budget_of_an_epoch, None if settings.bounded else settings.target_latency_ms)
        self._logger = job_logger(identity.name)
        self.progress = JobProgress(SlowEpochs(self._logger, storage.location))

    def cancel(self) -> None:
        """Ends the job after the epoch under way, or without it where it lasts and takes long to end."""
        self._cancelled.set()
        self.hasten(_CANCEL_SECONDS)

    def hasten(self, most_seconds: float | None = None) -> None:
        """Someone waits for the end of the epoch under way, or for the next one; for no longer than that."""
        self._pauses.hasten()
        if self._executor is not None:
            self._executor.hasten(most_seconds)

    def run(self) -> None:
        """Runs the job, also after failures, as the restart strategy says; returns at its end or after `cancel`."""
        by_itself = False
        try:
            while not self._cancelled.is_set():
                try:
                    self._attempt()
                    break
                except Exception as error:
                    by_itself = not isinstance(error, FencedError)
                    self.owns_job = self.owns_job and by_itself
                    self._wait_for_restart(error)
                    by_itself = False
            by_itself = True
        finally:
            if self._presence is not None:
                self._presence.end(by_itself=by_itself)
            self.savepoints.give_back(self._asked)
            self.savepoints.end(f"the job '{self._identity.name}' has ended: there is no epoch for a savepoint")
            self._writers.shutdown()

    def _attempt(self) -> None:
        """Runs the job from its newest manifest on."""
        manifest = self._take_over()
        if manifest is None:
            return
        self._logger.info("started at epoch %d, checkpoint %s", manifest.number, self._storage.location)
        if manifest.final:
            self._logger.info("this job has ended before, and reads nothing; in another directory it starts anew")
        self.progress.restore(manifest.records, manifest.operator_records)
        executor = self._executor = self._executor_for(manifest.job_id)
        ended = False
        try:
            with closing(Publisher(self._job, manifest.job_id, self._storage, executor)) as publisher:
                try:
                    self._publish_again(publisher)
                    if not manifest.final:
                        self._run_epochs(manifest, publisher, executor)
                    publisher.wait()
                except Exception:
                    publisher.settle()
                    raise
                publisher.settle()
            self._logger.info("ended after %d records", self.progress.records_read)
            ended = True
        finally:
            executor.close(ended=ended)

    def _wait_for_restart(self, error: Exception) -> None:
        """Waits as the restart strategy says; raises the failure where it says that the job is over."""
        failure = described(error, self._storage, may_be_replayed=self._presence is not None)
        # What is wrong from the beginning is told at once.
        delay = None
        if self._has_started and not is_final(error, has_worked=self.progress.epochs > 0):
            delay = self._restarts.delay_after_failure(self._time.now(at_least=0))
        if delay is None:
            # A report says all that the error said: it is not told twice.
            is_retold = failure is error or getattr(error, "report", None) is not None
            raise failure from (error.__cause__ if is_retold else error)
        self._logger.warning(
            "the job failed after epoch %d and goes on from there in %d ms:\n%s",
            0 if self._log.newest is None else self._log.newest.manifest.number,
            delay,
            failure,
        )
        self._run += 1
        self._heads = None
        self.progress.restarted()
        self.is_restarting = True
        self._pauses.before_restart(delay / 1000)
        self.is_restarting = False

    def _take_over(self) -> Manifest | None:
        """Makes this driver the one that runs the job; None where there is nothing to run."""
        turn_at = None
        if self._settings.standby_timeout_ms is not None and not self._has_started:
            turn, turn_at = self._stand_by(self._settings.standby_timeout_ms / 1000)
            if turn is not Turn.MINE:
                self._logger.info("the job is not taken over: %s", turn.value)
                return None
        self._read_newest()
        first = Manifest(
            number=0,
            kind=EPOCH,
            job_id=uuid.uuid4().hex,
            job_name=self._identity.name,
            incarnation=1,
            token="",
            parent=None,
            fingerprint=self._identity.fingerprint,
            plan=self._identity.plan,
        )
        try:
            manifest = self._log.take_over(
                first, turn_at, started=self._starting.first, continued=self._starting.continued
            )
        except FencedError:
            if turn_at is None:
                raise
            # Another driver that stood by was faster: wait for its end.
            return self._take_over()
        self.owns_job = True
        reach("takeover.after")
        self._storage.remove_unfinished()
        if self._presence is not None:
            self._presence.begin()
        return manifest

    def _stand_by(self, timeout_seconds: float) -> tuple[Turn, int | None]:
        self._logger.info("stands by for the driver of %s", self._storage.location)
        self.is_standing_by = True
        try:
            return StandBy(self._storage, self._log, timeout_seconds, self._wait).wait_for_turn(self._cancelled)
        finally:
            self.is_standing_by = False

    def _read_newest(self) -> Manifest | None:
        try:
            newest = self._log.read_newest()
        except (CheckpointUnavailableError, FencedError):
            raise
        except (CheckpointError, StateCorruptionError) as error:
            raise type(error)(f"{error} {say_what_is_left(self._storage)}") from error
        return None if newest is None else newest.manifest

    def _publish_again(self, publisher: Publisher) -> None:
        """Whatever the last driver managed to publish: doing it again changes nothing, leaving it out would."""
        newest = self._log.newest_epoch()
        published = None if newest is None else newest.epoch
        restored = None if self._log.newest is None else self._log.newest.manifest.restored_epoch
        if published is None and restored is not None:
            published = EpochId(*restored)
        publisher.recover(published)
        self._has_started = True
        waiting = self._starting.waiting
        self._left_behind = waiting.unclaimed_by(self._job)
        if self._left_behind:
            self._logger.warning("output of sinks is left behind: %s", ", ".join(self._left_behind))
        if newest is not None and waiting.staged:
            publisher.publish(newest, self._left_behind)
            publisher.wait()

    def _run_epochs(self, manifest: Manifest, publisher: Publisher, executor: StageExecutor) -> None:
        failures = 0
        while not manifest.final and not self._cancelled.is_set():
            state = DriverState(self._storage, manifest.driver_head)
            for uid in self._left_behind:
                held_output(state, uid).clear()
            sources = SourceCoordinator(
                self._job,
                state,
                self._pace.budget,
                bounded=self._settings.bounded,
                watermark_interval=self._settings.watermark_interval,
            )
            try:
                while not manifest.final and not self._cancelled.is_set():
                    committed = self._step(manifest, state, sources, publisher, executor)
                    if committed is not None:
                        manifest = committed
                        failures = 0
            except (ExecutionFailedError, IncompleteEpochError) as error:
                self._log.check_writer()
                if self._cancelled.is_set():
                    self._logger.warning("epoch %d is given up, for the job ends: %s", manifest.number + 1, error)
                    break
                failures += 1
                if failures > self._settings.attempts:
                    raise JobExecutionException(
                        f"epoch {manifest.number + 1} of '{self._identity.name}' failed {failures} times: {error}"
                    ) from None
                self._logger.warning("epoch %d is run again: %s", manifest.number + 1, error)
                self._run += 1
                self.progress.restarted()
            finally:
                self.progress.epoch_is_lost()
                sources.close()

    def _step(
        self,
        manifest: Manifest,
        state: DriverState,
        sources: SourceCoordinator,
        publisher: Publisher,
        executor: StageExecutor,
    ) -> Manifest | None:
        """One epoch, or a wait when there is nothing to do."""
        started = time.perf_counter()
        now = self._time.now(at_least=manifest.now)
        self._pauses.epoch_begins()
        if self.savepoints.asked.is_set():
            self._asked += self.savepoints.take()
        began, budget = self._clock(), self._pace.budget
        work = sources.drain() if any(each.drains for each in self._asked) else sources.plan(now, budget)
        lag = sources.lag()
        self.progress.lags(lag)
        if self.when_caught_up is not None and (not work.reads or sources.has_caught_up(lag)):
            self._asked.append(self.when_caught_up)
            self.when_caught_up = None
        timer_due = manifest.next_timer is not None and manifest.next_timer <= now
        if not work and not timer_due and not sources.all_ended and not self._asked:
            self._pauses.until_due(now, sources.next_poll(now), manifest.next_timer)
            return None
        tasks = assign_to_tasks(self._job, work.reads)
        header = EpochHeader(
            job_id=manifest.job_id,
            epoch=EpochId(manifest.incarnation, manifest.number + 1),
            run=self._run,
            now=now,
            index=manifest.index,
            ended_sources=work.ended,
            budget=budget,
            bounded=self._settings.bounded,
            union_lists=state.union_lists,
            driver=self._token,
        )
        planned = time.perf_counter()
        reach("action.before")
        self.progress.epoch_runs(executor.reports_so_far)
        if self._asked:
            # Whoever asked may have done so when there was no executor yet, or another one.
            executor.hasten()
        results = executor.run(header, tasks)
        reach("action.after")
        self.progress.task_reports(results.reports)
        self._raise_failures(results, header, tasks)
        if results.has_retries:
            self._run += 1
        done = check_complete(self._job, len(tasks), results.done)
        ran = time.perf_counter()
        publisher.wait()
        waited = time.perf_counter()
        following = self._commit(manifest, header, work, done, state, sources, publisher)
        records = sum(read.records for message in done for read in message.reads)
        self.progress.event_time_moved(sources.event_time(done, now))
        self.progress.epoch_committed(
            EpochTimes(
                following.number,
                records,
                planned - started,
                ran - planned,
                waited - ran,
                time.perf_counter() - waited,
            ),
            operator_counts(done),
            sum(message.state_bytes for message in done),
            state_sizes(done),
        )
        is_behind = sources.is_behind(lag, records)
        seconds = time.perf_counter() - started
        at_sources = [each.busy_ms + each.waited_ms for each in results.reports if each.stage == 0]
        reading = max(at_sources, default=0.0) / 1000
        self.progress.sources_waited(seconds, sources.waits(lag, records, max(seconds - reading, 0.0)))
        self._pace.epoch_ended(began, self._clock(), records, is_behind=is_behind)
        if self._asked:
            self._make_savepoints(following, publisher)
        self._clean_up()
        if not following.final and records < budget.max_records:
            self._pauses.keep_spacing(started)
            if not is_behind and (left := self._pace.wait_ms(self._clock())) > 0:
                self._pauses.wait(left / 1000)
        return following

    def _make_savepoints(self, manifest: Manifest, publisher: Publisher) -> None:
        """Savepoints of an epoch whose output is out; a job that is to stop with one does so where it was written."""
        publisher.wait()
        asked, self._asked = self._asked, []
        self.savepoints.serve(asked, manifest)
        stops = [request for request in asked if request.stops]
        if stops:
            self.savepoints.wait()
            if any(request.result.exception() is None for request in stops):
                self._cancelled.set()

    def _clean_up(self) -> None:
        """Removes old files now and then, beside the work on epochs."""
        self._uncleaned += 1
        is_at_it = (self._retention is not None and not self._retention.done()) or self.savepoints.is_writing
        if self._uncleaned < _RETENTION_EVERY or is_at_it:
            return
        self._uncleaned = 0
        self._retention = self._writers.submit(self._remove_unneeded)

    def _remove_unneeded(self) -> None:
        try:
            remove_unneeded(self._storage, self._log, self._settings.retained)
        except PenstockError as error:
            self._logger.warning("old files of the checkpoint are not removed: %s", error)

    def _commit(
        self,
        manifest: Manifest,
        header: EpochHeader,
        work: EpochInput,
        done: Sequence[Done],
        state: DriverState,
        sources: SourceCoordinator,
        publisher: Publisher,
    ) -> Manifest:
        progress = [read for message in done for read in message.reads]
        sources.committing(work, progress)
        state.save_union_lists(m.union_lists for m in sorted(done, key=lambda m: (m.stage, m.subtask)))
        timers = [message.next_timer for message in done if message.next_timer is not None]
        tokens: dict[str, dict[int, list[Any]]] = {}
        for message in done:
            for uid, staged in message.tokens.items():
                tokens.setdefault(uid, {})[message.subtask] = staged
        published = publisher.gather(
            tokens,
            header,
            sources.event_time(done, header.now),
            # What is held back cannot go into a savepoint.
            is_last=sources.all_ended or bool(self._asked),
            state=state,
        )
        due = publisher.next_due()
        if due is not None:
            timers.append(due)
        # Three small files, each waiting for the disk: they wait together.
        writes = self._writers
        driver_head = writes.submit(_staged, lambda: state.stage(header.epoch))
        index = writes.submit(_staged, lambda: self._stage_index(header, done))
        staged_tokens = writes.submit(_staged, lambda: publisher.stage_tokens(header.epoch, published))
        newest = self._log.newest
        assert newest is not None
        following = replace(
            manifest,
            number=header.epoch.number,
            kind=EPOCH,
            token=newest.manifest.token,
            parent=newest.hash,
            index=index.result(),
            driver_head=driver_head.result(),
            tokens=staged_tokens.result(),
            final=sources.all_ended,
            next_timer=min(timers, default=None),
            now=header.now,
            records={"read": manifest.records.get("read", 0) + sum(read.records for read in progress)},
            operator_records=added(manifest.operator_records, operator_counts(done)),
            newest_epoch=None,
        )
        self._log.append(following)
        state.committed(following.driver_head, header.epoch)
        publisher.publish(following)
        return following

    def _stage_index(self, header: EpochHeader, done: Sequence[Done]) -> str | None:
        heads = {(m.stage, m.subtask): m.head for m in done if m.head is not None}
        if heads == self._heads and header.index is not None:
            return header.index
        self._heads = heads
        prefix = f"index/{header.epoch.incarnation}/{header.epoch.number}"
        return write_index(self._storage, prefix, heads) if heads else None

    def _raise_failures(
        self, results: StageResults, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]
    ) -> None:
        if results.failures:
            report = min(results.failures, key=lambda failure: (failure.stage, failure.subtask))
            save_failed_epoch(
                self._storage, FailedEpoch(report, header, tuple(map(tuple, tasks)), self._job.source_uids)
            )
            raise JobExecutionException(report.render(), report)


def _staged(write: Callable[[], str | None]) -> str | None:
    path = write()
    reach("commit.staged")
    return path
