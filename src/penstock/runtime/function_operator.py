"""Operators around a user function: its life, its results and its failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from operator import length_hint
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import PenstockError
from penstock.functions.adapt import close_function, open_function
from penstock.runtime.checkpointed_operator import CheckpointedOperator
from penstock.runtime.contexts import RecordContext
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import OperatorContext
from penstock.runtime.result_sender import BATCH_SIZE, ResultSender, SendError
from penstock.runtime.runtime_context import OperatorRuntimeContext
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.keyed import KeyedStateBackend

ProcessElement = Callable[[Any, Any], Iterable[Any] | None]


class FunctionOperator(CheckpointedOperator):
    """Opens and closes a user function, sends its results on and reports what it raises."""

    def __init__(
        self,
        function: Any,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        self._function = function
        self._output_codec = output_codec
        self._side_output_codecs = side_output_codecs or {}

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._context = context
        self._sender = ResultSender(context.output, self._output_codec, self._side_output_codecs)
        self._open_function(None)

    def close(self) -> None:
        """Closes the user function."""
        try:
            close_function(self._function)
        except Exception as error:
            raise user_function_error(error, self._context) from error

    def _open_function(self, keyed_state: KeyedStateBackend | None) -> None:
        runtime_context = OperatorRuntimeContext(self._context, keyed_state)
        self._initialize_function(self._function, runtime_context)
        try:
            open_function(self._function, runtime_context)
        except Exception as error:
            raise user_function_error(error, self._context) from error

    def _flush(self, state: KeyedStateBackend | BroadcastStateBackend) -> None:
        """Writes state to the store; a value that cannot be saved is a failure of the user function."""
        try:
            state.flush()
            state.catalogue.flush()
        except PenstockError as error:
            raise user_function_error(error, self._context) from error

    def _process_batch(self, process_element: ProcessElement, ctx: RecordContext, batch: Batch) -> None:
        """Calls the function for every record and sends on what it yields."""
        values = batch.values
        records = iter(values)
        stamps: list[int | None] | None = None
        if batch.timestamps is None:
            ctx.record_timestamp = None
            results = chain.from_iterable(_calls(process_element, ctx, records))
        else:
            stamps = []
            results = _timed_results(process_element, ctx, records, batch.timestamps, stamps)
        self._send_all(results, stamps, lambda error: self._record_failure(error, batch, records))

    def _send_all(
        self,
        results: Iterator[Any],
        stamps: list[int | None] | None,
        failure: Callable[[Exception], Exception],
    ) -> None:
        """Sends results on as they come; `stamps` is filled beside them and holds the timestamp of each."""
        count = BATCH_SIZE
        while count == BATCH_SIZE:
            try:
                values = list(islice(results, BATCH_SIZE))
            except SendError as send_error:
                raise send_error.error from send_error
            except Exception as error:
                raise failure(error) from error
            count = len(values)
            if stamps is None:
                self._sender.send(values, None)
            else:
                self._sender.send(values, stamps.copy())
                stamps.clear()
            self._sender.flush()

    def _record_failure(self, error: Exception, batch: Batch, records: Iterator[Any]) -> Exception:
        """Reports a failure; how far the iterator over the batch has come tells which record it was."""
        index = len(batch) - length_hint(records) - 1
        if not 0 <= index < len(batch):
            return user_function_error(error, self._context)
        key = None if batch.keys is None else batch.keys[index]
        return user_function_error(
            error,
            self._context,
            key=key,
            record=batch.values[index],
            watermark=self.current_watermark,
            state=self._state_at_hand(),
        )

    def _state_at_hand(self) -> Mapping[str, Any]:
        """What the state that the function worked on holds, by name, for the report of a failure."""
        return {}


def _calls(process_element: ProcessElement, ctx: RecordContext, records: Iterator[Any]) -> Iterator[Iterable[Any]]:
    for value in records:
        result = process_element(value, ctx)
        if result is not None:
            yield result


def _timed_results(
    process_element: ProcessElement,
    ctx: RecordContext,
    records: Iterator[Any],
    timestamps: list[int | None],
    stamps: list[int | None],
) -> Iterator[Any]:
    add_stamp = stamps.append
    for timestamp, value in zip(timestamps, records, strict=True):
        ctx.record_timestamp = timestamp
        result = process_element(value, ctx)
        if result is not None:
            for each in result:
                add_stamp(timestamp)
                yield each
