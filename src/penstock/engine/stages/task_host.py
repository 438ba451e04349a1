"""What a worker process keeps between epochs: the job's program, readers, user functions and state caches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from penstock.common.logs import made_about
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.input_waits import InputWaits
from penstock.engine.stages.job_resources import ShippedFiles
from penstock.engine.stages.outcome import abort_rows
from penstock.engine.stages.program_copies import ProgramCopies
from penstock.engine.stages.source_task import SourceSubtask
from penstock.engine.stages.stage_subtask import StageSubtask
from penstock.engine.stages.task_environment import TaskEnvironment
from penstock.engine.stages.task_report import Report, reported

_IDLE_SECONDS = 60
"""A worker that serves other jobs for so long forgets this one; its state is read again when it comes back."""


@dataclass(frozen=True)
class TaskSetup:
    """What a stage function carries to find everything else: the same in every epoch of a run of the job."""

    environment: TaskEnvironment
    program: str
    """Where the pickled job is in the checkpoint storage; named by its hash."""
    stage_parallelism: tuple[int, ...]
    files: ShippedFiles = field(default_factory=ShippedFiles)


class TaskHost:
    """Subtasks live from epoch to epoch, but only within one run: a failed epoch leaves objects nobody can trust.

    Another driver may have another program; and what the one before it did last, it does not know.
    """

    source_subtask: type[SourceSubtask] = SourceSubtask
    stage_subtask: type[StageSubtask] = StageSubtask

    def __init__(self, files_root: Callable[[], str]) -> None:
        self._programs = ProgramCopies(files_root)
        self._subtasks: dict[tuple[str, int, int, int], StageSubtask] = {}
        self._sources: dict[tuple[str, int, int], SourceSubtask] = {}
        self._runs: dict[str, tuple[int, str, int]] = {}
        self._last_used: dict[str, float] = {}

    def run_source(
        self, setup: TaskSetup, header: EpochHeader, subtask: int, reads: Sequence[PlannedRead], report: Report
    ) -> Iterator[Envelope]:
        """A task of stage 0."""
        self._enter(header, 0, subtask)
        key = (header.job_id, header.epoch.incarnation, subtask)
        source = self._sources.get(key)
        if source is None or source.is_released:
            try:
                job = self._programs.own_copy(setup.program, setup.files, setup.environment)
            except Exception as error:
                return abort_rows(error, setup.stage_parallelism, stage=0, subtask=subtask, header=header)
            source = self._sources[key] = self.source_subtask(job, setup.environment, subtask, header.run)
        rows = made_about(source.run(header, reads), **source.about, epoch=header.epoch.number)
        return reported(rows, 0, subtask, source.metrics, report, source.waits, operator_times=source.operator_times)

    def run_stage(
        self,
        setup: TaskSetup,
        header: EpochHeader,
        stage: int,
        subtask: int,
        incoming: Iterable[Envelope],
        report: Report,
    ) -> Iterator[Envelope]:
        """A task of a later stage."""
        self._enter(header, stage, subtask)
        key = (header.job_id, header.epoch.incarnation, stage, subtask)
        hosted = self._subtasks.get(key)
        if hosted is None or hosted.must_start_anew(header):
            try:
                job = self._programs.own_copy(setup.program, setup.files, setup.environment)
            except Exception as error:
                return abort_rows(error, setup.stage_parallelism, stage=stage, subtask=subtask, header=header)
            renewed = self.stage_subtask(job, setup.environment, stage, subtask, header.run)
            if hosted is not None:
                hosted.release()
                renewed.metrics = hosted.metrics
            hosted = self._subtasks[key] = renewed
        waits = InputWaits()
        rows = made_about(hosted.run(header, waits.before_each(incoming)), **hosted.about, epoch=header.epoch.number)
        return reported(
            rows, stage, subtask, hosted.metrics, report, waits, hosted.fetched_bytes, hosted.operator_times
        )

    def close(self) -> None:
        """The end of the process or of the job."""
        for job_id in {key[0] for key in (*self._subtasks, *self._sources)}:
            self.close_job(job_id)

    def close_job(self, job_id: str) -> None:
        """The end of a job: its functions are closed."""
        subtasks = [self._subtasks.pop(key) for key in [*self._subtasks] if key[0] == job_id]
        sources = [self._sources.pop(key) for key in [*self._sources] if key[0] == job_id]
        for each in (*subtasks, *sources):
            each.close()

    def _enter(self, header: EpochHeader, stage: int, subtask: int) -> None:
        """A task begins: what is here of runs before its own is dropped."""
        now = time.monotonic()
        self._last_used[header.job_id] = now
        for job_id, used in list(self._last_used.items()):
            if now - used > _IDLE_SECONDS:
                self._discard(job_id)
                del self._last_used[job_id]
        run = (header.epoch.incarnation, header.driver, header.run)
        if self._runs.get(header.job_id) != run:
            self._discard(header.job_id)
            self._runs[header.job_id] = run

    def _discard(self, job_id: str) -> None:
        for key in [key for key in self._subtasks if key[0] == job_id]:
            self._subtasks.pop(key).release()
        for key in [key for key in self._sources if key[0] == job_id]:
            self._sources.pop(key).release()
