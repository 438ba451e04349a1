"""The operator behind `CEP.pattern`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from itertools import repeat
from typing import Any

import numpy as np

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.errors import MissingTimestampError, TypeMismatchError
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.functions.adapt import close_function, open_function
from penstock.functions.output_tag import OutputTag
from penstock.functions.timer_service import TimeDomain
from penstock.patterns import CepSettings, PatternDefinition, PatternProcessFunction
from penstock.runtime.cep.beginnings import Prospects
from penstock.runtime.cep.condition_tests import Masks
from penstock.runtime.cep.event_buffer import EventBuffer
from penstock.runtime.cep.fresh_events import DueEvents, FreshEvents
from penstock.runtime.cep.matches import Event
from penstock.runtime.cep.pattern_context import MatchContext
from penstock.runtime.cep.running_pattern import Outcome, RunningPattern, WaitingEvents
from penstock.runtime.failures import user_function_error
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.metrics import LATE_RECORDS_DROPPED
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK, OperatorContext
from penstock.runtime.runtime_context import OperatorRuntimeContext
from penstock.runtime.timers import TimerQueue

_NOTHING_FRESH = -1


class CepOperator(KeyedFunctionOperator):
    """Finds matches of a pattern in the events of each key.

    In event time, events wait until the watermark has passed them and are then looked at in the order of time, all
    of a key at once. In processing time they are looked at as they come. A key has one timer, for whatever comes
    first: its first waiting event or the end of its first partial match.
    """

    _function: PatternProcessFunction[Any, Any]

    def __init__(
        self,
        function: PatternProcessFunction[Any, Any],
        definition: PatternDefinition | None,
        settings: CepSettings,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, output_codec, side_output_codecs)
        self._definition = definition
        self._settings = settings
        # Records that go to a side output which nobody reads are dropped like all others.
        self._late_tag = self._read_tag(settings.late_data_tag)
        self._near_misses_tag = self._read_tag(settings.near_misses_tag)
        self._on_timed_out: Callable[..., Any] | None = getattr(function, "process_timed_out_match", None)
        self._sorted_key = None if settings.comparator is None else cmp_to_key(settings.comparator)
        self._patterns: list[RunningPattern] = []
        self._generation = 0
        """Changes with the patterns: what was computed for others is of no use."""
        self._current_event: Event | None = None
        self._fresh = FreshEvents()

    def open(self, context: OperatorContext) -> None:
        """Opens the user function and the conditions."""
        super().open(context)
        settings = self._settings
        self._buffer = EventBuffer(context.store, context.uid, context.max_parallelism, settings.input_type)
        self._input_codec = codec_for(settings.input_type)
        self._match_context = MatchContext(
            context, self._sender, self._current_key, is_event_time=settings.is_event_time
        )
        self._dropped = context.metrics.counter(LATE_RECORDS_DROPPED)
        if self._definition is not None:
            self._patterns = [self._running("", self._definition, "cep: matches")]

    def close(self) -> None:
        """Closes the conditions and the user function."""
        for function in self._condition_functions():
            close_function(function)
        super().close()

    def process(self, batch: Batch, input_index: int) -> None:
        """Takes events in."""
        keys = self._keys_of(batch)
        if not len(batch):
            return
        if not self._settings.is_event_time and self._sorted_key is None:
            self._process_at_once(batch, keys)
        elif self._settings.is_event_time and self._sorted_key is None and not self._context.batch:
            self._keep_together(batch)
        else:
            times = batch.timestamps or [None] * len(batch)
            if not self._settings.is_event_time:
                times = [self._context.processing_time] * len(batch)
            elif self._context.batch and times[0] is not None:
                # The events of a key come in the order of time: all before this one are there.
                self._state.current_key = keys[0]
                self._work_on_keys(keys[:1], times[0] - 1, has_come=False)
            self._keep(keys, times, batch)

    def finish(self) -> None:
        """All inputs have ended: what waits for the next tick of the clock need not."""
        if not self._settings.is_event_time and self._sorted_key is not None and not self._context.batch:
            due = dict.fromkeys(key for _, key, _ in self._timers.processing_time.due(MAX_WATERMARK))
            self._work_on_keys(due, self._context.processing_time)

    def end_epoch(self) -> None:
        """Writes state and timers to the store."""
        self._put_by()
        self._fresh.clear()
        super().end_epoch()
        self._flush(self._buffer)  # pyright: ignore[reportArgumentType]
        for pattern in self._patterns:
            self._flush(pattern.store)  # pyright: ignore[reportArgumentType]

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        super().drop_caches()
        self._fresh.clear()
        self._buffer.drop_caches()
        for pattern in self._patterns:
            pattern.store.drop_caches()

    # --- events that come

    def _masks(self, batch: Batch) -> list[Masks]:
        """What the conditions of each pattern say of the events."""
        try:
            return [pattern.masks(batch) for pattern in self._patterns]
        except RecordEvaluationError as failure:
            raise self._condition_failure(failure.cause, batch, failure.index) from failure.cause
        except TypeMismatchError as error:
            raise self._condition_failure(error, batch, error.index) from error

    def _condition_failure(self, error: Exception, batch: Batch, index: int | None) -> Exception:
        if index is None:
            return user_function_error(error, self._context)
        return user_function_error(error, self._context, key=self._keys_of(batch)[index], record=batch.values[index])

    def _keep_together(self, batch: Batch) -> None:
        """Keeps the events of a batch that are not late and can change something."""
        column = batch.timestamp_column
        if column is None or column.null_count:
            raise self._without_timestamp()
        times = column.to_numpy(zero_copy_only=False)
        is_kept = times > self.current_watermark
        if not is_kept.all():
            for row in np.flatnonzero(~is_kept).tolist():
                self._drop(batch.values[row], int(times[row]))
            self._sender.flush()
        masks = self._masks(batch)
        if self._definition is not None and self._patterns[0].idle_mask is not None:
            is_kept &= masks[0] != self._patterns[0].idle_mask
        rows = None if is_kept.all() else np.flatnonzero(is_kept)
        has_values = not batch.is_columnar or any(pattern.needs_values for pattern in self._patterns)
        self._fresh.add(batch, times, masks, rows, has_values=has_values)

    def _keep(self, keys: Sequence[bytes], times: Sequence[int | None], batch: Batch) -> None:
        """Keeps each event by its key and time."""
        watermark = self.current_watermark if self._settings.is_event_time else MIN_WATERMARK
        masks = [mask.tolist() for mask in self._masks(batch)]
        records = zip(batch.values, repeat(self._generation), *masks, strict=False)
        for key, time, record in zip(keys, times, records, strict=True):
            if time is None:
                raise self._without_timestamp()
            if time <= watermark:
                self._drop(record[0], time)
            elif self._buffer.add(key, time, record):
                self._wake(time, key)
        self._sender.flush()

    def _put_by(self) -> None:
        """Puts what has come and still waits where it is kept by key and time."""
        for key, time, value, masks in self._fresh.take_all():
            if self._buffer.add(key, time, (value, self._generation, *masks)):
                self._wake(time, key)

    def _drop(self, value: Any, time: int) -> None:
        if time == MIN_WATERMARK:
            raise self._without_timestamp()
        if self._late_tag is None:
            self._dropped.inc()
        else:
            self._sender.send_side(self._late_tag, value, time)

    def _without_timestamp(self) -> MissingTimestampError:
        return MissingTimestampError(
            f"an event without a timestamp came to '{self._context.name}', which looks for patterns in event time; "
            "call `assign_timestamps_and_watermarks(WatermarkStrategy...with_timestamp_assigner(...))` before, or "
            "`in_processing_time()`"
        )

    def _process_at_once(self, batch: Batch, keys: list[bytes]) -> None:
        masks = [mask.tolist() for mask in self._masks(batch)]
        self._send_all(self._results_at_once(keys, batch.values, masks), None, self._failure)

    def _results_at_once(self, keys: list[bytes], values: list[Any], masks: list[list[int]]) -> Iterator[Any]:
        now = self._context.processing_time
        times = [now] * len(keys)
        for place, key in enumerate(keys):
            self._state.current_key = key
            for number, pattern in enumerate(self._patterns):
                events = WaitingEvents(times, masks[number], values, place, place + 1)
                yield from self._results(pattern, key, events, now, None)

    # --- time that passes

    def _wake(self, time: int, key: bytes) -> None:
        """Has a key looked at when a time is reached; in batch execution that is when the key ends."""
        if self._context.batch:
            return
        if self._settings.is_event_time:
            self._timers.event_time.register(min(time, MAX_WATERMARK), key)
        else:
            self._timers.processing_time.register(min(time + 1, MAX_WATERMARK), key)

    def _fire(self, queue: TimerQueue, until: int, domain: TimeDomain) -> None:
        if (domain is TimeDomain.EVENT_TIME) != self._settings.is_event_time:
            return
        if self._context.batch:
            now = until if domain is TimeDomain.EVENT_TIME else self._context.processing_time
            self._work_on_keys(() if self._state.current_key is None else (self._state.current_key,), now)
        elif domain is TimeDomain.PROCESSING_TIME:
            self._work_on_keys((key for _, key, _ in queue.due(until)), until)
        else:
            self._work_on_due(queue, until)

    def _work_on_due(self, queue: TimerQueue, until: int) -> None:
        """Looks at all keys that have something up to a time: one after the other, by the time of the first of it."""
        woken: dict[bytes, int] = {}
        for time, key, _ in queue.due(until):
            if key not in woken:
                woken[key] = time
                self._fresh.wake(key)
        if not self._fresh.has_until(until):
            self._work_on_keys(woken, until)
            return
        fresh = self._fresh.take_until(until, *self._taken_from_buffer(woken, until))
        found = [
            pattern.prospects(mask, fresh.times, fresh.starts)
            for pattern, mask in zip(self._patterns, fresh.masks, strict=True)
        ]
        keys, codes, times = self._fresh.keys, fresh.codes.tolist(), fresh.times[fresh.starts].tolist()
        turns: list[tuple[int, bytes, int]] = []
        for group in np.flatnonzero(self._is_looked_at(fresh, found)).tolist():
            key, time = keys[codes[group]], times[group]
            turns.append((min(time, woken.get(key, time)), key, group))
        with_fresh = {key for _, key, _ in turns} if woken else set[bytes]()
        turns += [(time, key, _NOTHING_FRESH) for key, time in woken.items() if key not in with_fresh]
        turns.sort()
        stamps: list[int | None] = []
        self._send_all(self._results_of_fresh(fresh, found, turns, woken, until, stamps), stamps, self._failure)
        if not self._fresh.is_worth_keeping(len(fresh.times)):
            self._put_by()

    def _taken_from_buffer(self, keys: Iterable[bytes], until: int) -> tuple[Batch | None, list[Masks]]:
        """The events of some keys up to a time that have waited since an earlier epoch, and their masks."""
        of_records: list[bytes] = []
        times: list[int | None] = []
        values: list[Any] = []
        for key in keys:
            for time, records in self._buffer.remove_until(key, until):
                of_records += [key] * len(records)
                times += [time] * len(records)
                values += [record[0] for record in records]
        if not values:
            return None, []
        batch = Batch(self._input_codec, values=values, timestamps=times, keys=of_records)
        return batch, self._masks(batch)

    def _is_looked_at(self, fresh: DueEvents, found: list[Prospects | None]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Of each key that has events, whether they can change anything."""
        is_looked_at = ~self._fresh.rests[fresh.codes]
        for prospects in found:
            if prospects is None:
                is_looked_at[:] = True
                break
            begin = prospects.begin
            is_looked_at |= np.searchsorted(begin, fresh.starts) < np.searchsorted(begin, fresh.ends)
        return is_looked_at

    def _results_of_fresh(
        self,
        fresh: DueEvents,
        found: list[Prospects | None],
        turns: list[tuple[int, bytes, int]],
        woken: Container[bytes],
        until: int,
        stamps: list[int | None],
    ) -> Iterator[Any]:
        times, masks = fresh.times.tolist(), [mask.tolist() for mask in fresh.masks]
        begin: list[list[int] | None] = []
        for prospects in found:
            begin.append(None if prospects is None else prospects.begin.tolist())
            if prospects is not None:
                fresh.make_values(np.union1d(prospects.joined, prospects.joined + 1))
        starts, ends, codes = fresh.starts.tolist(), fresh.ends.tolist(), fresh.codes.tolist()
        for _, key, group in turns:
            self._state.current_key = key
            if group == _NOTHING_FRESH:
                yield from self._results_of_key(key, until, True, stamps)
                continue
            start, end = starts[group], ends[group]
            for number, pattern in enumerate(self._patterns):
                events = WaitingEvents(times, masks[number], fresh, start, end, begin[number])
                yield from self._results(pattern, key, events, until, stamps)
            self._fresh.rests[codes[group]] = all(pattern.is_idle(key) for pattern in self._patterns)
            if key in woken:
                self._wake_for_buffer(key)

    def _work_on_keys(self, keys: Iterable[bytes], until: int, *, has_come: bool = True) -> None:
        """Looks at what waits of some keys up to a time; `has_come`: nothing more is to be expected up to it."""
        stamps: list[int | None] | None = [] if self._settings.is_event_time else None
        self._send_all(self._results_of_keys(keys, until, has_come, stamps), stamps, self._failure)

    def _results_of_keys(
        self, keys: Iterable[bytes], until: int, has_come: bool, stamps: list[int | None] | None
    ) -> Iterator[Any]:
        for key in keys:
            self._state.current_key = key
            yield from self._results_of_key(key, until, has_come, stamps)

    def _results_of_key(self, key: bytes, until: int, has_come: bool, stamps: list[int | None] | None) -> Iterator[Any]:
        times: list[int] = []
        records: list[tuple[Any, ...]] = []
        sorted_key = self._sorted_key
        for time, of_time in self._buffer.remove_until(key, until):
            if len(of_time) > 1 and sorted_key is not None:
                of_time.sort(key=lambda record: sorted_key(record[0]))
            records += of_time
            times += [time] * len(of_time)
        values = [record[0] for record in records]
        is_tested = all(record[1] == self._generation for record in records)
        for number, pattern in enumerate(self._patterns):
            if is_tested:
                masks = [record[number + 2] for record in records]
            else:
                masks = pattern.masks_of_values(values, self._input_codec)
            events = WaitingEvents(times, masks, values, 0, len(values))
            yield from self._results(pattern, key, events, until if has_come else None, stamps)
        self._wake_for_buffer(key)

    def _wake_for_buffer(self, key: bytes) -> None:
        if waiting := self._buffer.of(key).times:
            self._wake(waiting[0], key)

    def _results(
        self,
        pattern: RunningPattern,
        key: bytes,
        events: WaitingEvents,
        until: int | None,
        stamps: list[int | None] | None,
    ) -> Iterator[Any]:
        ctx = self._match_context
        for outcome, found, time in pattern.work(key, events, until, self._set_current_event, self._wake):
            ctx.id, ctx.time = pattern.id, time
            results: Iterable[Any] | None = None
            if outcome is Outcome.MATCH:
                results = self._function.process_match(found, ctx)
            elif outcome is Outcome.TIMED_OUT:
                assert self._on_timed_out is not None
                results = self._on_timed_out(found, ctx)
            elif self._near_misses_tag is not None:
                ctx.output(self._near_misses_tag, found)
            if results is not None:
                for each in results:
                    if stamps is not None:
                        stamps.append(time)
                    yield each
        self._current_event = None

    def _set_current_event(self, event: Event) -> None:
        self._current_event = event

    def _failure(self, error: Exception) -> Exception:
        key, event = self._state.current_key, self._current_event
        if event is None:
            return user_function_error(error, self._context, key=key)
        return user_function_error(error, self._context, key=key, record=event.value)

    # --- patterns

    def _running(self, pattern_id: str, definition: PatternDefinition, state_name: str) -> RunningPattern:
        pattern = RunningPattern(
            pattern_id,
            definition,
            self._settings.input_type,
            self._context,
            state_name=state_name,
            limit=self._settings.limit,
            wants_timed_out=self._on_timed_out is not None,
            wants_near_misses=self._near_misses_tag is not None,
        )
        runtime_context = OperatorRuntimeContext(self._context, None)
        for function in condition_functions(definition):
            try:
                open_function(function, runtime_context)
            except Exception as error:
                raise user_function_error(error, self._context) from error
        return pattern

    def _condition_functions(self) -> Iterator[Any]:
        if self._definition is not None:
            yield from condition_functions(self._definition)

    def _read_tag(self, tag: OutputTag | None) -> OutputTag | None:
        return tag if tag is not None and tag.tag_id in self._side_output_codecs else None


def condition_functions(definition: PatternDefinition) -> Iterator[Any]:
    """The program's own condition objects, each once."""
    leaves = (leaf for condition in definition.conditions() for leaf in condition.leaves())
    yield from {id(leaf.function): leaf.function for leaf in leaves if leaf.function is not None}.values()
