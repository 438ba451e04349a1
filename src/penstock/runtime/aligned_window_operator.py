"""The operator behind tumbling, sliding and cumulating windows with the usual trigger: a shorter way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from operator import length_hint
from typing import Any

from penstock.common.batch import Batch
from penstock.common.watermark_generator import MAX_TIMESTAMP
from penstock.runtime.known_windows import KnownWindow
from penstock.runtime.operator import MIN_WATERMARK, OperatorContext
from penstock.runtime.result_sender import BATCH_SIZE
from penstock.runtime.timers import TimerQueue
from penstock.runtime.window_operator import Steps, WindowOperator, timestamps_of
from penstock.windows.assigner import AlignedWindowAssigner, require_timestamp

_MOST_BUCKETS = 1 << 14

Contents = dict[bytes, Any]
"""What a window has, by key."""


class AlignedWindowOperator(WindowOperator):
    """Asks the assigner once for all records of a bucket of time, and the trigger never.

    While a window has contents, and its time has not come, its timers are set: a timer is set with the first record of
    a key. A window that begins in an epoch needs neither timers nor state before the epoch ends; most windows of a job
    that catches up are over by then.
    """

    def open(self, context: OperatorContext) -> None:
        """Opens the window function."""
        super().open(context)
        assert isinstance(self._assigner, AlignedWindowAssigner)
        self._aligned = self._assigner
        self._queue = self._timers.event_time if self._is_event_time else self._timers.processing_time
        # In batch execution there is one key at a time, and its windows are over when it is.
        self._begins_windows = self._is_event_time and not self._lateness and not context.batch
        self._begun: dict[bytes, tuple[KnownWindow, Contents]] = {}
        """Windows, by their bytes, in which the store has nothing."""
        self._buckets: dict[int, list[tuple[KnownWindow, Contents | None]]] = {}
        """The windows of a bucket, with their contents where they began in this epoch."""

    def end_epoch(self) -> None:
        """Writes state and timers to the store."""
        for known, contents in self._begun.values():
            for key, content in contents.items():
                self._contents.put(key + known.suffix, content)
                self._queue.register(known.max_timestamp, key, known.namespace)
        self._forget_windows()
        super().end_epoch()

    def forget_key(self) -> None:
        """Forgets the windows of the current key."""
        super().forget_key()
        self._forget_windows()

    def _forget_windows(self) -> None:
        self._begun.clear()
        self._buckets.clear()

    def _add_all(self, batch: Batch, records: Iterator[Any]) -> Steps:
        assigner, event_time = self._aligned, self._is_event_time
        watermark = self.current_watermark if event_time else MIN_WATERMARK
        width, offset = assigner.bucket_width, assigner.bucket_offset(self._assigner_context)
        buckets, add, folded, register = self._buckets, self._contents.add, self._contents.folded, self._queue.register
        times = timestamps_of(batch) if event_time else repeat(self._context.processing_time, len(batch))
        for key, time, value in zip(batch.keys or (), times, records, strict=True):
            if time is None:
                require_timestamp(time, assigner)
                continue
            bucket = time - (time - offset) % width
            windows = buckets.get(bucket) or self._learn_bucket(bucket)
            is_added = False
            for known, contents in windows:
                if known.max_timestamp > watermark:
                    is_added = True
                    if contents is not None:
                        contents[key] = folded(contents.get(key), value)
                    elif add(key + known.suffix, value):
                        register(known.max_timestamp, key, known.namespace)
                        if known.cleanup_time not in (known.max_timestamp, MAX_TIMESTAMP):
                            register(known.cleanup_time, key, known.namespace)
                elif known.cleanup_time > watermark:
                    is_added = True
                    self._state.current_key = self._pane.key = key
                    self._add(value, time, known, key + known.suffix)
            if not is_added:
                self._skip(value, time, bool(windows), batch.records_at(len(batch) - length_hint(records) - 1))
            if len(self._values) >= BATCH_SIZE:
                yield

    def _learn_bucket(self, bucket: int) -> list[tuple[KnownWindow, Contents | None]]:
        if len(self._buckets) >= _MOST_BUCKETS:
            self._buckets.clear()
        known = map(self._windows.of, self._aligned.windows_at(bucket, self._assigner_context))
        learnt = self._buckets[bucket] = [(each, self._contents_if_begun(each)) for each in known]
        return learnt

    def _contents_if_begun(self, known: KnownWindow) -> Contents | None:
        # What is in an open window has a timer for its end.
        if not self._begins_windows or self._queue.has_stored(known.max_timestamp):
            return None
        return self._begun.setdefault(known.namespace, (known, {}))[1]

    def _firing(self, queue: TimerQueue, until: int, event_time: bool) -> Steps:
        if self._lateness or event_time is not self._is_event_time:
            yield from super()._firing(queue, until, event_time)
            return
        over = [(known.max_timestamp, name) for name, (known, _) in self._begun.items() if known.max_timestamp <= until]
        for end, name in sorted(over):
            yield from self._closing(queue, end - 1)
            yield from self._closing_begun(*self._begun.pop(name))
        yield from self._closing(queue, until)

    def _closing(self, queue: TimerQueue, until: int) -> Steps:
        """Without lateness, a timer is the end of a window.

        Others are of older programs, which have not put down whose they are. An earlier one is of a trigger; a later
        one of a program that had lateness: a window that it has kept has fired when its end came.
        """
        take = self._contents.take
        for timestamp, key, namespace in queue.due(until):
            self._timer_context.record_timestamp = timestamp
            known = self._windows.at(namespace)
            if timestamp < known.max_timestamp:
                queue.register(known.max_timestamp, key, namespace)
                continue
            inputs = take(key + known.suffix)
            if timestamp == known.max_timestamp:
                self._close(key, known, inputs)
            elif inputs is not None:
                self._close(key, known, None)
            if len(self._values) >= BATCH_SIZE:
                yield

    def _closing_begun(self, known: KnownWindow, contents: Contents) -> Steps:
        self._timer_context.record_timestamp = known.max_timestamp
        inputs_of = self._contents.inputs_of
        for key in sorted(contents):
            self._close(key, known, inputs_of(contents.pop(key)))
            if len(self._values) >= BATCH_SIZE:
                yield

    def _close(self, key: bytes, known: KnownWindow, inputs: list[Any] | None) -> None:
        self._state.current_key = self._pane.key = key
        self._pane.known = known
        if inputs is not None:
            self._emit(self._call(inputs))
        if self._call_clear is not None:
            self._call_clear()
            self._window_state.close(key + known.suffix)
