"""Calls a function of the program with every record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.batch import Batch
from penstock.connectors.sink import DeliveryGuarantee, Sink, SinkWriter, SinkWriterContext, Token
from penstock.functions.sink_function import SinkContext, SinkFunction


class FunctionSink(Sink):
    """Calls `function(record)`, or `invoke` of a `SinkFunction`, in the tasks, at least once.

    The call happens before its epoch is committed: after a failure, or when a task is retried, records come again.
    """

    def __init__(self, function: Callable[[Any], object] | SinkFunction) -> None:
        self._function = function
        self._is_open = False

    @property
    def wrapped_function(self) -> Callable[[Any], object] | SinkFunction:
        """The function that is called."""
        return self._function

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        if not isinstance(self._function, SinkFunction):
            return _CallableWriter(self._function)
        if not self._is_open:
            assert context.runtime_context is not None, "tasks give writers a runtime context"
            self._function.open(context.runtime_context)
            self._is_open = True
        return _FunctionWriter(self._function, context)

    def close(self) -> None:
        """Closes the function where it was opened."""
        if self._is_open and isinstance(self._function, SinkFunction):
            self._is_open = False
            self._function.close()

    def describe(self) -> str:  # noqa: D102
        return f"function {getattr(self._function, '__name__', type(self._function).__name__)}, at least once"


class _CallableWriter(SinkWriter):
    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function

    def write(self, batch: Batch) -> None:
        function = self._function
        value: Any = None
        try:
            for value in batch.values:
                function(value)
        except Exception as error:
            error.add_note(f"the record was {value!r}")
            raise

    def prepare_commit(self) -> list[Token]:
        return []


class _FunctionWriter(SinkWriter):
    def __init__(self, function: SinkFunction, context: SinkWriterContext) -> None:
        self._function = function
        self._context = _RecordContext(context)

    def write(self, batch: Batch) -> None:
        timestamps = batch.timestamps or [None] * len(batch)
        value: Any = None
        try:
            for value, self._context.time in zip(batch.values, timestamps, strict=True):
                self._function.invoke(value, self._context)
        except Exception as error:
            error.add_note(f"the record was {value!r}")
            raise

    def prepare_commit(self) -> list[Token]:
        self._function.flush()
        return []


class _RecordContext(SinkContext):
    def __init__(self, context: SinkWriterContext) -> None:
        self._context = context
        self.time: int | None = None

    def current_processing_time(self) -> int:
        return self._context.current_processing_time()

    def current_watermark(self) -> int:
        return self._context.current_watermark()

    def timestamp(self) -> int | None:
        return self.time
