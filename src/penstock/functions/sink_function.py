"""Sinks as functions: code of the program that takes records, as in Flink's Java API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.functions.function import Function, RuntimeContext


class SinkContext(ABC):
    """What is known of the record that a sink function is given."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Processing time in ms."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come, in ms."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The record's event time in ms; None where it has none."""


class SinkFunction(Function):
    """Takes records, one by one, at least once: after a failure those of the last epoch come again.

    `open` is called once per subtask before the first record, `close` at the end of the job.

    >>> class Collect(SinkFunction):
    ...     def __init__(self):
    ...         self.seen = []
    ...     def invoke(self, value, context):
    ...         self.seen.append(value)
    """

    Context = SinkContext

    @abstractmethod
    def invoke(self, value: Any, context: SinkContext) -> None:
        """Takes a record."""

    def flush(self) -> None:
        """Called before an epoch is committed: write out what you hold back, or a crash loses it."""
        return


class RichSinkFunction(SinkFunction):
    """A sink function that asks its runtime context: the same as `SinkFunction`, with Flink's Java name.

    >>> class Show(RichSinkFunction):
    ...     def invoke(self, value, context):
    ...         print(value, "in", self.get_runtime_context().get_task_name_with_subtasks())
    >>> sink = env.from_collection(["a"]).add_sink(Show()).name("Show")
    >>> done = env.execute()
    a in Show (1/1)#0
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once in the subtask, before the first record."""
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """Where the function runs."""
        return self._runtime_context
