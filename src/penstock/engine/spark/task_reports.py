"""Task reports on their way to the driver: by accumulator, so that the rows stay the same on every attempt."""

from __future__ import annotations

from dataclasses import replace

from pyspark import Accumulator, AccumulatorParam, SparkContext, TaskContext

from penstock.engine.stages.task_report import TaskReport


class _Lists(AccumulatorParam[list[TaskReport]]):
    def zero(self, value: list[TaskReport]) -> list[TaskReport]:
        return []

    def addInPlace(self, value1: list[TaskReport], value2: list[TaskReport]) -> list[TaskReport]:  # noqa: N802
        return value1 + value2


class Reports:
    """One per job: tasks send, the driver collects after each epoch."""

    def __init__(self, context: SparkContext) -> None:
        self._accumulator: Accumulator[list[TaskReport]] = context.accumulator([], _Lists())

    def send(self, report: TaskReport) -> None:
        """Called in a task."""
        context = TaskContext.get()
        attempt = 0 if context is None else context.attemptNumber()
        self._accumulator.add([replace(report, attempt=attempt)])

    def so_far(self) -> list[TaskReport]:
        """Called on the driver: what has come since the last `collect`."""
        return list(self._accumulator.value)

    def collect(self) -> list[TaskReport]:
        """Called on the driver: what came since the last call."""
        reports = self._accumulator.value
        self._accumulator.value = []
        return reports
