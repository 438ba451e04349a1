"""The tasks of pipelined mode in this process: every stage gets its rows as a streaming shuffle might deliver them."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.configuration import Configuration
from penstock.common.pipelined_options import BUFFER_TIMEOUT, live_buffer_timeout, live_epoch_length
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.epochs.stage_executor import StageResults, results_from
from penstock.engine.local.engine import LocalEngine
from penstock.engine.local.executor import LocalStageExecutor
from penstock.engine.pipelined.control_rows import end_rows, partitions_of
from penstock.engine.pipelined.live_header import END_OF_ROUND, LiveHeader, LiveSettings, directory_of, live_header
from penstock.engine.pipelined.live_task_host import LiveTaskHost
from penstock.engine.pipelined.live_word import make_room
from penstock.engine.stages.compiled import CompiledJob
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.epoch_header import EpochHeader, PlannedRead
from penstock.engine.stages.task_host import TaskSetup


def environment(latency: str, **options: str) -> StreamExecutionEnvironment:
    """A job of this process, pipelined or in epochs; `__` stands for a dot in the names of options."""
    configuration = Configuration()
    if latency == "pipelined":
        configuration.set_string("execution.latency", "pipelined")
        configuration.set_string("execution.pipelined.epoch", "60 ms")
    else:
        configuration.set_string("execution.engine", "local")
    settings = {"execution.runtime-mode": "STREAMING", "pipeline.auto-watermark-interval": "10 ms", **options}
    for key, value in settings.items():
        configuration.set_string(key.replace("__", "."), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


class LocalPipelinedEngine(LocalEngine):
    def __init__(self, configuration: Configuration, session: object | None) -> None:
        super().__init__(configuration, session)
        self._live = LiveSettings(
            live_epoch_length(configuration) / 1000,
            live_buffer_timeout(configuration) / 1000 if configuration.contains_key(BUFFER_TIMEOUT.key) else 0.0,
            tick_seconds=0.005,
        )

    def create_executor(self, job: CompiledJob, setup: TaskSetup) -> LocalPipelinedExecutor:
        return LocalPipelinedExecutor(job, setup, self._live)


class LocalPipelinedExecutor(LocalStageExecutor):
    """Tasks of a stage one after the other. The rows of a sender keep their order; those of several are mixed."""

    def __init__(self, job: CompiledJob, setup: TaskSetup, live: LiveSettings) -> None:
        super().__init__(job, setup)
        self._live = live
        self._host = LiveTaskHost(lambda: "")
        self._newest_run: int | None = None
        self._turn = 0

    def run(self, header: EpochHeader, tasks: Sequence[Sequence[PlannedRead]]) -> StageResults:
        live = live_header(header, tasks, self._live, is_first=header.run != self._newest_run, turn=self._turn)
        self._turn += 1
        self._newest_run = header.run
        self.make_room(live)
        reports = self._reports = []
        parallelism = self._job.stage_parallelism
        sent = [
            [
                *self._host.run_source(self._setup, live, subtask, reads, reports.append),
                *end_rows(parallelism, 0, subtask),
            ]
            for subtask, reads in enumerate(tasks)
        ]
        for stage in self._job.stages[1:]:
            partitions = partitions_of(parallelism, stage)
            sent = [
                [
                    *self._host.run_stage(self._setup, live, stage, subtask, rows, reports.append),
                    *end_rows(parallelism, stage, subtask),
                ]
                for subtask, rows in enumerate(self._delivered(sent, partitions))
            ]
        return results_from((row for rows in sent for row in rows), reports)

    def make_room(self, header: LiveHeader) -> None:
        """As the driver does; nobody says anything there."""
        make_room(self._setup.environment.storage, directory_of("", header.turn), [header.end_mark])

    def _delivered(self, sent: list[list[Envelope]], partitions: int) -> list[list[Envelope]]:
        delivered: list[list[Envelope]] = [[] for _ in range(partitions)]
        waiting = [[row for row in rows if row is not END_OF_ROUND][::-1] for rows in sent]
        while any(waiting):
            rows = self._random.choice([rows for rows in waiting if rows])
            row = rows.pop()
            delivered[row.target % partitions].append(row)
        return delivered
