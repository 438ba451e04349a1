"""Sources as functions: code of the program that brings records, as in Flink's Java API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from penstock.functions.function import Function, RuntimeContext


class SourceContext(ABC):
    """Where a source function puts its records."""

    @abstractmethod
    def collect(self, element: Any) -> None:
        """Emits a record. Waits where the job is behind."""

    @abstractmethod
    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """Emits a record with its event time in ms."""

    @abstractmethod
    def emit_watermark(self, watermark: Any) -> None:
        """Says that no record with this event time or an earlier one will come: a `Watermark`, or ms."""

    @abstractmethod
    def mark_as_temporarily_idle(self) -> None:
        """Says that event time need not wait for this source until it emits again."""

    @abstractmethod
    def get_checkpoint_lock(self) -> AbstractContextManager[object]:
        """The lock that `snapshot_state` is called under: hold it while you emit and change your state together."""

    @abstractmethod
    def close(self) -> None:
        """Nothing may be emitted afterwards."""


class SourceFunction(Function):
    """Brings records by running until it has no more, or is cancelled.

    The function runs in the driver, once, in a thread of its own: a source of low volume, a test, a bridge to
    something that has no connector. Its records are written to the checkpoint directory and read from there by a task.

    After a restart `run` starts from the beginning, so records may come again: at least once. A source that can tell
    where it is extends `CheckpointedSourceFunction` and goes on exactly there.

    >>> class Countdown(SourceFunction):
    ...     def __init__(self, start):
    ...         self.start, self.running = start, True
    ...     def run(self, ctx):
    ...         while self.running and self.start > 0:
    ...             ctx.collect(self.start)
    ...             self.start -= 1
    ...     def cancel(self):
    ...         self.running = False
    """

    SourceContext = SourceContext

    @abstractmethod
    def run(self, ctx: SourceContext) -> None:
        """Emits records; the source ends when this returns."""

    @abstractmethod
    def cancel(self) -> None:
        """Makes `run` return soon. Called from another thread."""


class RichSourceFunction(SourceFunction):
    """A source function that asks its runtime context: the same as `SourceFunction`, with Flink's Java name.

    >>> class Greeting(RichSourceFunction):
    ...     def run(self, ctx):
    ...         ctx.collect(f"hello from {self.get_runtime_context().get_task_name()}")
    ...
    ...     def cancel(self):
    ...         pass
    >>> list(env.add_source(Greeting(), "Greeting", Types.STRING(), bounded=True).execute_and_collect())
    ['hello from Greeting']
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once, before `run`."""
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """Where the function runs."""
        return self._runtime_context


class CheckpointedSourceFunction(SourceFunction):
    """A source function that goes on where it was after a restart: its records count exactly once.

    `snapshot_state` is called between records, under the checkpoint lock. What it returns belongs to all records
    emitted so far: emit and change what it returns within one `with ctx.get_checkpoint_lock():`.

    >>> class Numbers(CheckpointedSourceFunction):
    ...     def __init__(self, end):
    ...         self.next, self.end, self.running = 0, end, True
    ...
    ...     def run(self, ctx):
    ...         while self.running and self.next < self.end:
    ...             with ctx.get_checkpoint_lock():
    ...                 ctx.collect(self.next)
    ...                 self.next += 1
    ...
    ...     def cancel(self):
    ...         self.running = False
    ...
    ...     def snapshot_state(self):
    ...         return self.next
    ...
    ...     def restore_state(self, state):
    ...         self.next = state
    >>> list(env.add_source(Numbers(3), type_info=Types.LONG(), bounded=True).execute_and_collect())
    [0, 1, 2]
    """

    @abstractmethod
    def snapshot_state(self) -> Any:
        """Where the source is; anything that can be pickled."""

    @abstractmethod
    def restore_state(self, state: Any) -> None:
        """Called before `open` and `run` with the state as of the last committed epoch, if there is one."""
