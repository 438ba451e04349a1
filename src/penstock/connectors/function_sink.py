"""Calls a Python function with every record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.batch import Batch
from penstock.connectors.sink import DeliveryGuarantee, Sink, SinkWriter, SinkWriterContext, Token


class FunctionSink(Sink):
    """Calls `function(record)` in the tasks, at least once.

    The call happens before its epoch is committed: after a failure, or when a task is retried, records come again.
    """

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        return _FunctionWriter(self._function)

    def describe(self) -> str:  # noqa: D102
        return f"function {getattr(self._function, '__name__', type(self._function).__name__)}, at least once"


class _FunctionWriter(SinkWriter):
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
