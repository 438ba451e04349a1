"""Operators around a user function that works on one key at a time, with state and timers of that key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import StateError
from penstock.functions.adapt import timer_callable
from penstock.functions.lost_results import telling_lost_results
from penstock.functions.timer_service import TimeDomain
from penstock.runtime.contexts import CurrentKey, KeyedContext, KeyedTimerContext
from penstock.runtime.failures import user_function_error
from penstock.runtime.function_operator import FunctionOperator, ProcessElement
from penstock.runtime.operator import OperatorContext
from penstock.runtime.result_sender import ResultSender
from penstock.runtime.timer_services import KeyedTimerService
from penstock.runtime.timers import TimerQueue
from penstock.state.keyed import KeyedStateBackend


class KeyedFunctionOperator(FunctionOperator):
    """Keeps state and timers by key, and fires timers when their time has come."""

    def __init__(
        self,
        function: Any,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, output_codec, side_output_codecs)
        on_timer = timer_callable(function)
        self._on_timer: Callable[[int, Any], Iterable[Any] | None] | None = on_timer and telling_lost_results(on_timer)

    def open(self, context: OperatorContext) -> None:
        """Opens the user function."""
        self._context = context
        self._sender = ResultSender(context.output, self._output_codec, self._side_output_codecs)
        self._state = KeyedStateBackend(
            context.store, context.uid, context.max_parallelism, clock=lambda: context.processing_time
        )
        self._timers = KeyedTimerService(self, context, self._state)
        self._current_key = CurrentKey(self._state)
        self._timer_context = self._make_timer_context()
        self._open_function(self._state)

    @property
    def name(self) -> str:
        """The operator's name."""
        return self._context.name

    @property
    def current_key(self) -> bytes | None:
        """The encoded key that the function works on; None between records."""
        return self._state.current_key

    def values_of_current_key(self) -> Mapping[str, Any]:
        """What the state of the current key holds, by name, for people."""
        return self._state.values_of_current_key()

    def advance_watermark(self, watermark: int) -> int:
        """Fires the event-time timers up to the watermark."""
        if watermark > self.current_watermark:
            self.current_watermark = watermark
            self._fire(self._timers.event_time, watermark, TimeDomain.EVENT_TIME)
        return self.current_watermark

    def advance_processing_time(self, now: int) -> None:
        """Fires the processing-time timers up to now."""
        self._fire(self._timers.processing_time, now, TimeDomain.PROCESSING_TIME)

    def next_processing_timer(self) -> int | None:
        """When the earliest processing-time timer is due."""
        return self._timers.processing_time.earliest()

    def end_epoch(self) -> None:
        """Writes state and timers to the store."""
        self._state.current_key = None
        self._flush(self._state)
        self._timers.flush()

    def clean_up_before_snapshot(self) -> None:
        """Removes what has expired from the store."""
        self._state.clean_up_before_snapshot()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store; the user function's handles go on working."""
        self._state.drop_caches()
        self._timers.drop_caches()

    def _make_timer_context(self) -> KeyedTimerContext:
        return KeyedTimerContext(self._timers, self._sender, self._current_key)

    def _keys_of(self, batch: Batch) -> list[bytes]:
        if batch.keys is None:
            raise StateError(f"operator '{self._context.name}' is keyed, but records without keys came to it")
        return batch.keys

    def _process_keyed_batch(self, process_element: ProcessElement, ctx: KeyedContext, batch: Batch) -> None:
        """Calls the function for every record, with its key, and sends on what it yields."""
        keys = self._keys_of(batch)
        self._state.count_records(len(batch))
        records = iter(batch.values)
        stamps: list[int | None] | None = None
        if batch.timestamps is None:
            ctx.record_timestamp = None
            results = chain.from_iterable(self._keyed_calls(process_element, ctx, keys, records))
        else:
            stamps = []
            results = self._timed_keyed_results(process_element, ctx, batch, records, stamps)
        self._send_all(results, stamps, lambda error: self._record_failure(error, batch, records))

    def _keyed_calls(
        self, process_element: ProcessElement, ctx: KeyedContext, keys: list[bytes], records: Iterator[Any]
    ) -> Iterator[Iterable[Any]]:
        state = self._state
        for key, value in zip(keys, records, strict=True):
            state.current_key = key
            result = process_element(value, ctx)
            if result is not None:
                yield result

    def _timed_keyed_results(
        self,
        process_element: ProcessElement,
        ctx: KeyedContext,
        batch: Batch,
        records: Iterator[Any],
        stamps: list[int | None],
    ) -> Iterator[Any]:
        state, add_stamp = self._state, stamps.append
        for key, timestamp, value in zip(batch.keys or (), batch.timestamps or (), records, strict=True):
            state.current_key = key
            ctx.record_timestamp = timestamp
            result = process_element(value, ctx)
            if result is not None:
                for each in result:
                    add_stamp(timestamp)
                    yield each

    def _fire(self, queue: TimerQueue, until: int, domain: TimeDomain) -> None:
        on_timer = self._on_timer
        # In batch execution the timers of the current key are all there are, and none is in the store.
        if on_timer is None or (self._context.batch and not queue.is_changed):
            return
        self._timer_context.firing_domain = domain
        stamps: list[int | None] | None = [] if domain is TimeDomain.EVENT_TIME else None
        self._send_all(self._timer_results(on_timer, queue, until, stamps), stamps, self._timer_failure)

    def _timer_results(
        self,
        on_timer: Callable[[int, Any], Iterable[Any] | None],
        queue: TimerQueue,
        until: int,
        stamps: list[int | None] | None,
    ) -> Iterator[Any]:
        """Results of processing-time timers have no timestamps, as in Flink."""
        state, ctx = self._state, self._timer_context
        for timestamp, key, _ in queue.due(until):
            state.current_key = key
            ctx.record_timestamp = timestamp
            result = on_timer(timestamp, ctx)
            if result is not None:
                for each in result:
                    if stamps is not None:
                        stamps.append(timestamp)
                    yield each

    def _timer_failure(self, error: Exception) -> Exception:
        ctx = self._timer_context
        return user_function_error(
            error,
            self._context,
            key=self._state.current_key,
            record=_FiringTimer(ctx.firing_domain, ctx.record_timestamp),
            watermark=self.current_watermark,
            state=self._state_at_hand(),
        )

    def _state_at_hand(self) -> Mapping[str, Any]:
        return self.values_of_current_key()


class _FiringTimer:
    """Stands in a failure report where a record would."""

    def __init__(self, domain: TimeDomain, timestamp: int | None) -> None:
        self._text = f"{domain.name.lower().replace('_', '-')} timer at {timestamp}"

    def __repr__(self) -> str:
        return self._text
