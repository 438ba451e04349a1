"""The operator behind `AsyncDataStream`: calls to other systems, many at the same time."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import repeat
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.functions.async_function import AsyncFunction
from penstock.functions.async_retry import AsyncRetryStrategy
from penstock.runtime.async_calls import AsyncCalls, Call, CallFailure
from penstock.runtime.failures import user_function_error
from penstock.runtime.function_operator import FunctionOperator
from penstock.runtime.operator import OperatorContext


class AsyncOperator(FunctionOperator):
    """Calls an `AsyncFunction` for each record.

    Calls may be under way between batches, but not beyond a watermark or the end of an epoch: there the operator
    waits for all of them, so there is nothing in flight that a checkpoint would have to hold. It is not chained to
    sources, where work is done split by split: calls for records of all splits are under way together.
    """

    def __init__(
        self,
        function: AsyncFunction[Any, Any],
        output_codec: RecordCodec,
        *,
        capacity: int,
        timeout_ms: int,
        retry_strategy: AsyncRetryStrategy[Any],
        ordered: bool,
    ) -> None:
        super().__init__(function, output_codec)
        self._capacity = capacity
        self._timeout_ms = timeout_ms
        self._retry_strategy = retry_strategy
        self._ordered = ordered

    def open(self, context: OperatorContext) -> None:
        """Opens the user function and starts the event loop."""
        super().open(context)
        self._calls = AsyncCalls(
            self._function,
            name=f"{context.name} ({context.subtask + 1}/{context.parallelism})",
            capacity=self._capacity,
            timeout_ms=self._timeout_ms,
            retry_strategy=self._retry_strategy,
            ordered=self._ordered,
        )
        # After a failure elsewhere operators are dropped, not closed; the loop must not outlive them.
        self._stop_loop = weakref.finalize(self, self._calls.stop)

    def process(self, batch: Batch, input_index: int) -> None:
        """Starts the calls for the batch; returns when no more of them are open than may be."""
        timestamps: Iterable[int | None] = batch.timestamps or repeat(None)
        keys: Iterable[bytes | None] = batch.keys or repeat(None)
        with self._reporting():
            self._calls.submit([*map(Call, batch.values, timestamps, keys)])
            self._send_until(self._capacity)

    def advance_watermark(self, watermark: int) -> int:
        """Sends on the results of all records before the watermark, then the watermark."""
        self._drain()
        return super().advance_watermark(watermark)

    def inputs_fall_idle(self) -> None:
        """Sends on all results: a consumer does not wait for an idle input, they would come too late."""
        self._drain()

    def time_passes(self) -> None:
        """Sends on the results that are there, and waits for none."""
        with self._reporting():
            self._send_until(self._capacity)

    def finish(self) -> None:
        """Waits for all calls."""
        self._drain()

    def end_epoch(self) -> None:
        """Waits for all calls."""
        self._drain()

    def close(self) -> None:
        """Closes the user function and ends the event loop."""
        try:
            super().close()
        finally:
            self._stop_loop()
            self._calls.join()

    def _drain(self) -> None:
        """Waits for all calls and sends their results on."""
        with self._reporting():
            self._send_until(0)

    def _send_until(self, open_calls: int) -> None:
        for calls in self._calls.ready(open_calls):
            self._send(calls)

    def _send(self, calls: list[Call]) -> None:
        values = [result for call in calls for result in call.results or ()]
        if not values:
            return
        timestamps: list[int | None] | None = None
        if any(call.timestamp is not None for call in calls):
            timestamps = [call.timestamp for call in calls for _ in call.results or ()]
        self._context.output.emit(Batch(self._output_codec, values=values, timestamps=timestamps))

    @contextmanager
    def _reporting(self) -> Generator[None]:
        try:
            yield
        except CallFailure as failure:
            self._stop_loop()
            call, error = failure.call, failure.error
            if isinstance(error, asyncio.CancelledError):
                error = RuntimeError("the call was cancelled, and not because of its time-out")
            if not isinstance(error, Exception):
                raise error  # noqa: B904 (SystemExit and such mean what they mean elsewhere)
            raise user_function_error(error, self._context, key=call.key, record=call.value) from error
