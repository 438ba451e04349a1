"""What a worker process keeps between epochs of a job in pipelined mode."""

from __future__ import annotations

from collections.abc import Callable

from penstock.common.logs import job_logger
from penstock.engine.pipelined.live_header import LiveHeader
from penstock.engine.pipelined.live_source_subtask import LiveSourceSubtask
from penstock.engine.pipelined.live_stage_subtask import LiveStageSubtask
from penstock.engine.stages.epoch_header import EpochHeader
from penstock.engine.stages.source_task import SourceSubtask
from penstock.engine.stages.stage_subtask import StageSubtask
from penstock.engine.stages.task_host import TaskHost


class LiveTaskHost(TaskHost):
    """A `TaskHost` whose subtasks let records flow.

    A worker has one task of a Spark job, for as long as that lasts. The next Spark job may give it another one: then
    it lets go of the one before, whose consumer would go on fetching, and whose state would be here and there.
    """

    source_subtask: type[SourceSubtask] = LiveSourceSubtask
    stage_subtask: type[StageSubtask] = LiveStageSubtask

    def __init__(self, files_root: Callable[[], str]) -> None:
        super().__init__(files_root)
        self._spark_jobs: dict[str, str] = {}

    def _enter(self, header: EpochHeader, stage: int, subtask: int) -> None:
        # What a run before has left is no longer there after this: it is dropped, not closed.
        super()._enter(header, stage, subtask)
        assert isinstance(header, LiveHeader)
        if self._spark_jobs.get(header.job_id) == header.spark_job:
            return
        self._spark_jobs[header.job_id] = header.spark_job
        others: list[SourceSubtask | StageSubtask] = [
            self._sources.pop(key)
            for key in [*self._sources]
            if key[0] == header.job_id and (0, key[2]) != (stage, subtask)
        ]
        others += [
            self._subtasks.pop(key)
            for key in [*self._subtasks]
            if key[0] == header.job_id and key[2:] != (stage, subtask)
        ]
        for each in others:
            try:
                each.close()
            except Exception as error:
                job_logger(**each.about).warning(
                    "a function that another worker goes on with could not be closed: %s: %s",
                    type(error).__name__,
                    error,
                )
