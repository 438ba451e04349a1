"""What a worker process keeps between epochs of a job in pipelined mode."""

from __future__ import annotations

from penstock.engine.pipelined.live_source_subtask import LiveSourceSubtask
from penstock.engine.pipelined.live_stage_subtask import LiveStageSubtask
from penstock.engine.stages.source_task import SourceSubtask
from penstock.engine.stages.stage_subtask import StageSubtask
from penstock.engine.stages.task_host import TaskHost


class LiveTaskHost(TaskHost):
    """A `TaskHost` whose subtasks let records flow."""

    source_subtask: type[SourceSubtask] = LiveSourceSubtask
    stage_subtask: type[StageSubtask] = LiveStageSubtask
