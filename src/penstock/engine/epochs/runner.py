"""The driver loop: plan an epoch, run it, check it, commit it, publish it."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.errors import CheckpointError, IncompleteEpochError, JobExecutionException, UserFunctionError
from penstock.common.fail_points import reach
from penstock.common.logs import job_logger
from penstock.connectors.sink import EpochId
from penstock.connectors.source import EpochBudget
from penstock.engine.epochs.completeness import check_complete
from penstock.engine.epochs.driver_state import DriverState
from penstock.engine.epochs.manifest import EPOCH, Manifest
from penstock.engine.epochs.manifest_log import ManifestLog
from penstock.engine.epochs.progress import EpochTimes, JobProgress
from penstock.engine.epochs.publisher import Publisher
from penstock.engine.epochs.restarts import NoRestart, RestartPolicy
from penstock.engine.epochs.retention import remove_unneeded
from penstock.engine.epochs.source_coordinator import EpochInput, SourceCoordinator, assign_to_tasks
from penstock.engine.epochs.stage_executor import ExecutionFailedError, StageExecutor, StageResults
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.engine.stages.messages import Done
from penstock.state.index import write_index
from penstock.state.storage import CheckpointStorage

_RETENTION_EVERY = 20
_MAX_WAIT_MS = 1000
_UNLIMITED = 1 << 60


@dataclass(frozen=True)
class EpochSettings:
    """How epochs are cut and kept."""

    budget: EpochBudget
    bounded: bool
    retained: int = 10
    minimum_spacing_ms: int = 0
    watermark_interval: int = 200
    """How often, in ms, generators of watermarks are asked when no records come; 0: never."""
    attempts: int = 3
    """How often in a row an epoch that the engine lost is run again."""

    @property
    def budget_of_an_epoch(self) -> EpochBudget:
        """Batch execution is one epoch, which reads everything."""
        return replace(self.budget, max_records=_UNLIMITED, max_bytes=_UNLIMITED) if self.bounded else self.budget


@dataclass(frozen=True)
class JobIdentity:
    """What a job is called and what its plan is."""

    name: str
    fingerprint: str
    plan: Mapping[str, Any]


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
        clock: Callable[[], int] = lambda: int(time.time() * 1000),
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._job = job
        self._identity = identity
        self._storage = storage
        self._settings = settings
        self._executor_for = executor_for
        self._restarts = restarts or NoRestart()
        self.is_restarting = False
        """Whether the job has failed and waits to go on."""
        self._clock = clock
        self._wait = wait
        self._cancelled = threading.Event()
        self._log = ManifestLog(storage, token=uuid.uuid4().hex)
        self._run = 0
        self._heads: dict[tuple[int, int], str] | None = None
        """The heads in the newest index, where this driver wrote it."""
        self._writers = ThreadPoolExecutor(3, thread_name_prefix="penstock-commit")
        self.progress = JobProgress()
        self._logger = job_logger(identity.name)

    def cancel(self) -> None:
        """Ends the job after the epoch under way."""
        self._cancelled.set()

    def run(self) -> None:
        """Runs the job; returns at its end or after `cancel`."""
        manifest = self._take_over()
        self._logger.info("started at epoch %d, checkpoint %s", manifest.number, self._storage.location)
        self.progress.restore(manifest.records)
        publisher = Publisher(self._job, manifest.job_id, self._storage)
        executor = self._executor_for(manifest.job_id)
        ended = False
        try:
            self._publish_again(publisher)
            if not manifest.final:
                self._run_epochs(manifest, publisher, executor)
            publisher.wait()
            self._logger.info("ended after %d records", self.progress.records_read)
            ended = True
        finally:
            executor.close(ended=ended)
            publisher.close()
            self._writers.shutdown()

    def _take_over(self) -> Manifest:
        newest = self._log.read_newest()
        if newest is not None:
            self._refuse_other_plan(newest.manifest)
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
        manifest = self._log.take_over(first)
        reach("takeover.after")
        self._storage.remove_unfinished()
        return manifest

    def _refuse_other_plan(self, manifest: Manifest) -> None:
        if manifest.fingerprint != self._identity.fingerprint:
            raise CheckpointError(
                f"the checkpoint in {self._storage.location} belongs to another plan:\n"
                + "\n".join(_differences(manifest.plan, self._identity.plan))
                + "\nUse the program that wrote it, or another checkpoint directory."
            )

    def _publish_again(self, publisher: Publisher) -> None:
        """Whatever the last driver managed to publish: doing it again changes nothing, leaving it out would."""
        newest = self._log.newest_epoch()
        publisher.recover(None if newest is None else newest.epoch)
        if newest is not None:
            publisher.publish(newest)
            publisher.wait()

    def _run_epochs(self, manifest: Manifest, publisher: Publisher, executor: StageExecutor) -> None:
        failures = 0
        while not manifest.final and not self._cancelled.is_set():
            state = DriverState(self._storage, manifest.driver_head)
            budget = self._settings.budget_of_an_epoch
            sources = SourceCoordinator(
                self._job,
                state,
                budget,
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
                failures += 1
                if failures > self._settings.attempts:
                    self._wait_for_restart(
                        JobExecutionException(
                            f"epoch {manifest.number + 1} of '{self._identity.name}' failed {failures} times: {error}"
                        ),
                        error,
                    )
                self._logger.warning("epoch %d is run again: %s", manifest.number + 1, error)
                self._run += 1
                self.progress.restarted()
            except (JobExecutionException, UserFunctionError) as error:
                if error.report is None:
                    raise
                self._wait_for_restart(JobExecutionException(error.report.render(), error.report), error)
                self._logger.warning("epoch %d is run again after a failure of the program", manifest.number + 1)
                self._run += 1
                self.progress.restarted()
            finally:
                self.progress.epoch_is_lost()
                sources.close()

    def _wait_for_restart(self, failure: JobExecutionException, cause: Exception) -> None:
        """Waits as the restart strategy says; raises the failure where it says that the job is over."""
        delay = self._restarts.delay_after_failure(self._clock())
        if delay is None:
            raise failure from cause
        self._logger.warning("the job failed and goes on in %d ms:\n%s", delay, failure)
        self.is_restarting = True
        self._wait(self._cancelled, delay / 1000)
        self.is_restarting = False

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
        # Processing time never goes back, whatever the clock of this machine says.
        now = max(self._clock(), manifest.now)
        work = sources.plan(now)
        self.progress.lags(sources.lag())
        timer_due = manifest.next_timer is not None and manifest.next_timer <= now
        if not work and not timer_due and not sources.all_ended:
            self._pause(now, sources.next_poll(now), manifest.next_timer)
            return None
        tasks = assign_to_tasks(work.reads, self._job.stage_parallelism[0])
        header = EpochHeader(
            job_id=manifest.job_id,
            epoch=EpochId(manifest.incarnation, manifest.number + 1),
            run=self._run,
            now=now,
            index=manifest.index,
            ended_sources=work.ended,
            budget=self._settings.budget_of_an_epoch,
            bounded=self._settings.bounded,
            union_lists=state.union_lists,
        )
        planned = time.perf_counter()
        reach("action.before")
        self.progress.epoch_runs(executor.reports_so_far)
        results = executor.run(header, tasks)
        reach("action.after")
        self.progress.task_reports(results.reports)
        self._raise_failures(results)
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
            _operator_counts(done),
            sum(message.state_bytes for message in done),
            _state_sizes(done),
        )
        if following.number % _RETENTION_EVERY == 0:
            remove_unneeded(self._storage, self._log, self._settings.retained)
        self._keep_spacing(started)
        return following

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
        tokens: dict[str, list[Any]] = {}
        for message in done:
            for uid, staged in message.tokens.items():
                tokens.setdefault(uid, []).extend(staged)
        # Three small files, each waiting for the disk: they wait together.
        writes = self._writers
        driver_head = writes.submit(state.stage, header.epoch)
        index = writes.submit(self._stage_index, header, done)
        staged_tokens = writes.submit(publisher.stage_tokens, header.epoch, tokens)
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

    def _raise_failures(self, results: StageResults) -> None:
        if results.failures:
            report = min(results.failures, key=lambda failure: (failure.stage, failure.subtask))
            raise JobExecutionException(report.render(), report)

    def _pause(self, now: int, next_poll: int | None, next_timer: int | None) -> None:
        due = min(time for time in (next_poll, next_timer, now + _MAX_WAIT_MS) if time is not None)
        self._wait(self._cancelled, max(due - now, 1) / 1000)

    def _keep_spacing(self, started: float) -> None:
        left = self._settings.minimum_spacing_ms / 1000 - (time.perf_counter() - started)
        if left > 0:
            self._wait(self._cancelled, left)


def _operator_counts(done: Sequence[Done]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for message in done:
        for uid, of_subtask in message.operators.items():
            totals = counts.setdefault(uid, {})
            for name, count in of_subtask.items():
                totals[name] = totals.get(name, 0) + count
    return counts


def _state_sizes(done: Sequence[Done]) -> dict[str, dict[str, int]]:
    sizes: dict[str, dict[str, int]] = {}
    for message in done:
        for uid, (entries, size) in message.state_sizes.items():
            total = sizes.setdefault(uid, {"entries": 0, "bytes": 0})
            total["entries"] += entries
            total["bytes"] += size
    return sizes


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for key in sorted(set(there) | set(here)):
        if there.get(key) != here.get(key):
            lines.append(f"  {key}: the checkpoint has {there.get(key)!r}, the program {here.get(key)!r}")
    return lines
