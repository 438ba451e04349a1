"""The operator behind `window(...)` and `window_all(...)`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import StateError, StateMisfitError
from penstock.common.watermark_generator import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.functions.function import KeyedStateStore
from penstock.functions.timer_service import TimeDomain
from penstock.runtime.columnar_windows.column_state import remove_windows_of_columns, windows_of_columns
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.runtime.known_windows import KnownWindow, KnownWindows
from penstock.runtime.merging_window_set import MergingWindowSet
from penstock.runtime.metrics import LATE_RECORDS_DROPPED
from penstock.runtime.operator import MAX_WATERMARK, OperatorContext
from penstock.runtime.result_sender import BATCH_SIZE, SendError
from penstock.runtime.runtime_context import OperatorRuntimeContext
from penstock.runtime.session_state_form import (
    MERGING_WINDOWS,
    MERGING_WINDOWS_TYPE,
    SESSIONS_OF_KEYS,
    stored_merging_windows,
    take_stored_sessions,
)
from penstock.runtime.timers import TimerQueue, stored_timers, timer_prefix
from penstock.runtime.window_calls import clear_call, window_call
from penstock.runtime.window_contents import (
    AggregatedContents,
    ListedContents,
    ReducedContents,
    WindowContents,
    WindowsOfKeys,
)
from penstock.runtime.window_contexts import AssignerContext, FunctionContext, TriggerContext
from penstock.runtime.window_stagger import StaggerState
from penstock.runtime.window_state import NoWindowState, WindowStateBackend
from penstock.runtime.window_state_form import (
    CONTENTS,
    are_timers_of_another_kind,
    are_timers_of_others,
    describe_timers,
    has_entries,
    stored_keys,
    why_windows_of_another_kind,
)
from penstock.state.namespaced_keys import namespace_in, without_namespace
from penstock.state.state_keys import delete_prefix
from penstock.windows.assigner import MergingWindowAssigner, require_timestamp
from penstock.windows.definition import WindowDefinition, has_usual_trigger
from penstock.windows.session import SessionWindows
from penstock.windows.trigger import TriggerResult

Steps = Iterator[None]
"""Work that pauses whenever there are enough results to be sent on."""


_LateWindow = tuple[bytes, KnownWindow, bytes]
"""Its key, itself, and the window that its contents are kept under."""


class WindowOperator(KeyedFunctionOperator):
    """Keeps the contents of the windows of each key, and calls the window function when the trigger says so.

    What it does to a record and a timer, and in which order, is what Flink's operator of that name does.
    """

    _form_of_others = SESSIONS_OF_KEYS
    """The form in which the operator of another trigger keeps sessions."""

    def __init__(
        self,
        definition: WindowDefinition,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(definition.window_function, output_codec, side_output_codecs)
        self._definition = definition

    def open(self, context: OperatorContext) -> None:
        """Opens the window function."""
        super().open(context)
        self._knows_the_form = False
        definition = self._definition
        # Copied, for it may remember by how much the windows of this subtask are shifted.
        assigner = self._assigner = copy.copy(definition.assigner)
        self._merging_assigner = assigner if isinstance(assigner, MergingWindowAssigner) else None
        self._trigger = definition.trigger
        self._is_event_time = assigner.is_event_time()
        self._lateness = definition.allowed_lateness if self._is_event_time else 0
        self._windows = KnownWindows(assigner.get_window_serializer(), self._lateness)
        self._contents = self._make_contents(context)
        describe_timers(self._contents.catalogue, definition)
        self._stagger = StaggerState(context, assigner)
        self._values: list[Any] = []
        self._stamps: list[int | None] = []
        self._dropped = context.metrics.counter(LATE_RECORDS_DROPPED)
        tag = definition.late_data_tag
        # Records that go to a side output which nobody reads are dropped like all others.
        self._late_tag = tag if tag is not None and tag.tag_id in self._side_output_codecs else None
        self._make_contexts(context)

    def _make_contents(self, context: OperatorContext) -> WindowContents:
        place = context.store, context.uid, context.max_parallelism
        if self._definition.reduce_function is not None:
            return ReducedContents(*place, self._definition)
        if self._definition.aggregate_function is not None:
            return AggregatedContents(*place, self._definition)
        return ListedContents(*place, self._definition.element_type)

    def _make_contexts(self, context: OperatorContext) -> None:
        function = self._definition.window_function
        runtime_context = OperatorRuntimeContext(context, self._state)
        self._assigner_context = AssignerContext(self, context, runtime_context)
        self._trigger_state = WindowStateBackend(context, "trigger")
        self._window_state = WindowStateBackend(context, "window")
        self._pane = TriggerContext(self, context, self._timers, self._trigger_state)
        window_store: KeyedStateStore = OperatorRuntimeContext(context, self._window_state)
        if self._merging_assigner is not None:
            window_store = NoWindowState()
        function_context = FunctionContext(
            self._pane, self._pane, self._sender, self._window_state, window_store, runtime_context
        )
        self._call = window_call(function, function_context, self._current_key.get)
        self._call_clear = clear_call(function, function_context)
        self._open_windows = WindowsOfKeys(context, MERGING_WINDOWS, MERGING_WINDOWS_TYPE)

    # --- the life of an operator

    def begin_epoch(self) -> None:
        """Goes on with open windows that another program has left in another form."""
        if not self._knows_the_form:
            self._refuse_windows_of_another_kind()
            self._go_on_with_windows()
            self._knows_the_form = True

    def process(self, batch: Batch, input_index: int) -> None:
        """Puts every record into its windows."""
        self._keys_of(batch)
        records = iter(batch.values)
        self._work(self._add_all(batch, records), lambda error: self._record_failure(error, batch, records))

    def advance_processing_time(self, now: int) -> None:
        """Fires the processing-time timers before now: a window ends when the clock shows its end.

        The last millisecond of a window is still a part of it: records may come to it in this epoch, or in the next.
        """
        self._fire(self._timers.processing_time, now if now == MAX_WATERMARK else now - 1, TimeDomain.PROCESSING_TIME)

    def next_processing_timer(self) -> int | None:
        """When the earliest processing-time timer is due."""
        earliest = super().next_processing_timer()
        return None if earliest is None else min(earliest + 1, MAX_TIMESTAMP)

    def end_epoch(self) -> None:
        """Writes state and timers to the store."""
        super().end_epoch()
        for state in (self._contents, self._open_windows, self._trigger_state, self._window_state):
            self._flush(state)  # pyright: ignore[reportArgumentType]
        self._stagger.save()

    def clean_up_before_snapshot(self) -> None:
        """Removes what has expired from the store."""
        super().clean_up_before_snapshot()
        self._trigger_state.clean_up_before_snapshot()
        self._window_state.clean_up_before_snapshot()

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        self.forget_key()
        self._stagger.load()
        self._knows_the_form = False

    def forget_key(self) -> None:
        """Forgets the windows of the current key; by how much windows are shifted is the subtask's."""
        super().drop_caches()
        for state in (self._contents, self._open_windows, self._trigger_state, self._window_state):
            state.drop_caches()

    def _refuse_windows_of_another_kind(self) -> None:
        """Neither finds what the other has: what merges is stored under other names, and each time has its timers."""
        context, merges = self._context, self._merging_assigner is not None
        are_merged = has_entries(context, SESSIONS_OF_KEYS) or has_entries(context, MERGING_WINDOWS)
        reason = why_windows_of_another_kind(context, self._definition)
        if merges is not are_merged and (are_merged or has_entries(context, CONTENTS)):
            before, now = ("merge", "do not") if are_merged else ("do not merge", "do")
            reason = f"{before}, and those of {self._assigner!r} {now}"
        if reason is not None:
            raise StateMisfitError(
                f"operator '{context.name}': its open windows {reason}; give the operator another uid, or let the "
                "windows end before the program changes"
            )

    def _go_on_with_windows(self) -> None:
        if self._go_on_with_columns():
            return
        if isinstance(self._merging_assigner, SessionWindows) and self._go_on_with_sessions(self._form_of_others):
            return
        if are_timers_of_others(self._context, self._definition):
            self._set_timers_anew()

    def _go_on_with_columns(self) -> bool:
        context = self._context
        left = windows_of_columns(context, self._definition, self._assigner_context, self.current_watermark)
        if left is None:
            return False
        for key, window, content in left:
            known = self._windows.of(window)
            self._contents.put(key + known.suffix, content)
            self._open_window(key, known, known.namespace)
        self._flush_windows()
        remove_windows_of_columns(context)
        return True

    def _go_on_with_sessions(self, form: str) -> bool:
        """What the trigger has kept for itself is not known to another one."""
        left = take_stored_sessions(self._context, form)
        late: list[_LateWindow] = []
        for key, window, state_window in left:
            known = self._windows.of(window)
            if self._is_late(known):
                late.append((key, known, state_window))
            else:
                self._open_window(key, known, state_window)
        self._work(self._close_late(late, in_set=False), self._timer_failure)
        if left:
            self._flush_windows()
        return bool(left)

    def _set_timers_anew(self) -> None:
        """Windows wait for what trigger and lateness say now; a trigger of the program's own keeps its timers."""
        is_usual = has_usual_trigger(self._definition)
        windows = list(self._stored_windows())
        if is_usual or are_timers_of_another_kind(self._context, self._definition):
            for domain in TimeDomain:
                delete_prefix(self._context.store, timer_prefix(self._context.uid, domain))
        late: list[_LateWindow] = []
        for key, window, state_window in windows:
            known = self._windows.at(window)
            if self._is_late(known):
                late.append((key, known, state_window))
            else:
                self._open_window(key, known, state_window, fires=is_usual)
        self._work(self._close_late(late, in_set=self._merging_assigner is not None), self._timer_failure)
        self._flush_windows()

    def _stored_windows(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Keys, windows, and those that their contents are kept under."""
        context = self._context
        if self._merging_assigner is not None:
            yield from stored_merging_windows(context)
            return
        found = dict.fromkeys((without_namespace(at), namespace_in(at)) for at in stored_keys(context, CONTENTS))
        if not are_timers_of_another_kind(context, self._definition):
            # A window that was purged has nothing but timers; its function is still to hear that it goes away.
            found.update(dict.fromkeys((key, window) for _, key, window in stored_timers(context.store, context.uid)))
        for key, window in found:
            yield key, window, window

    def _close_late(self, late: list[_LateWindow], *, in_set: bool) -> Steps:
        """They have fired, and were kept for records that would be too late now."""
        self._timer_context.firing_domain = TimeDomain.EVENT_TIME
        for key, known, state_window in late:
            self._state.current_key = self._pane.key = key
            self._pane.known = known
            self._timer_context.record_timestamp = known.cleanup_time
            merging = self._merging_set() if in_set else None
            self._close_window(key + self._windows.at(state_window).suffix, merging)
        yield

    def _flush_windows(self) -> None:
        # What is in the store is what open windows are looked for in.
        for state in (self._contents, self._open_windows, self._timers):
            state.flush()

    def _open_window(self, key: bytes, known: KnownWindow, state_window: bytes, *, fires: bool = True) -> None:
        """Opens a window that has contents. Where it `fires`, its trigger hears of it when its end comes."""
        queue = self._timers.event_time if self._is_event_time else self._timers.processing_time
        if fires and (not self._is_event_time or known.max_timestamp > self.current_watermark):
            queue.register(known.max_timestamp, key, known.namespace)
        if known.cleanup_time != MAX_TIMESTAMP:
            queue.register(known.cleanup_time, key, known.namespace)
        if self._merging_assigner is not None:
            self._open_windows.put(key, {**(self._open_windows.get(key) or {}), known.namespace: state_window})

    def _work(self, steps: Steps, failure: Callable[[Exception], Exception]) -> None:
        """Takes the steps, and sends on what they bring."""
        goes_on = True
        while goes_on:
            try:
                goes_on = next(steps, self) is not self
            except SendError as send_error:
                raise send_error.error from send_error
            except Exception as error:
                raise failure(error) from error
            values, self._values = self._values, []
            stamps, self._stamps = self._stamps, []
            self._sender.send(values, stamps)
            self._sender.flush()

    # --- records

    def _add_all(self, batch: Batch, records: Iterator[Any]) -> Steps:
        """Asks the assigner about every record."""
        if self._merging_assigner is not None:
            yield from self._add_merging(batch, records)
            return
        for key, timestamp, value in zip(batch.keys or (), timestamps_of(batch), records, strict=True):
            self._state.current_key = self._pane.key = key
            windows = [self._windows.of(window) for window in self._assigned(value, timestamp)]
            open_windows = [known for known in windows if not self._is_late(known)]
            for known in open_windows:
                self._add(value, timestamp, known, key + known.suffix)
            if not open_windows:
                self._skip(value, timestamp, bool(windows))
            if len(self._values) >= BATCH_SIZE:
                yield

    def _add_merging(self, batch: Batch, records: Iterator[Any]) -> Steps:
        """Windows that merge: adding a record may make one window of several."""
        for key, timestamp, value in zip(batch.keys or (), timestamps_of(batch), records, strict=True):
            self._state.current_key = self._pane.key = key
            merging = self._merging_set()
            is_dropped = is_added = False
            for window in self._assigned(value, timestamp):
                actual = merging.add(self._windows.of(window), self._merge)
                if self._is_late(actual):
                    merging.retire(actual)
                    is_dropped = True
                    continue
                is_added = True
                self._add(value, timestamp, actual, self._contents_at(merging, actual))
            self._save(merging)
            if not is_added:
                self._skip(value, timestamp, is_dropped)
            if len(self._values) >= BATCH_SIZE:
                yield

    def _assigned(self, value: Any, timestamp: int | None) -> Any:
        if timestamp is None:
            if self._is_event_time:
                require_timestamp(timestamp, self._assigner)
            timestamp = MIN_TIMESTAMP
        return self._assigner.assign_windows(value, timestamp, self._assigner_context)

    def _add(self, value: Any, timestamp: int | None, known: KnownWindow, at: bytes) -> None:
        """Puts a record into a window whose contents are kept at a place, and does what the trigger says."""
        self._contents.add(at, self._stored(value, timestamp))
        pane = self._pane
        pane.known, pane.fired_at = known, timestamp
        stamp = MIN_TIMESTAMP if timestamp is None else timestamp
        self._obey(self._trigger.on_element(value, stamp, known.window, pane), at, of_record=True)
        if known.cleanup_time != MAX_TIMESTAMP:
            if self._is_event_time:
                pane.register_event_time_timer(known.cleanup_time)
            else:
                pane.register_processing_time_timer(known.cleanup_time)

    def _stored(self, value: Any, timestamp: int | None) -> Any:
        """What is kept of a record."""
        return value

    def _is_late(self, known: KnownWindow) -> bool:
        return self._is_event_time and known.cleanup_time <= self.current_watermark

    def _skip(self, value: Any, timestamp: int | None, had_windows: bool, records: int = 1) -> None:
        """A record that no open window takes, or so many in one: a late one goes to the side output, or is counted.

        The windows of a custom assigner may be gone although the record is not late; it is counted too.
        """
        is_late = self._is_event_time and timestamp is not None and timestamp + self._lateness <= self.current_watermark
        if is_late and self._late_tag is not None:
            self._sender.send_side(self._late_tag, value, timestamp)
        elif is_late or had_windows:
            self._dropped.inc(records)

    # --- windows that merge

    def _merging_set(self) -> MergingWindowSet:
        assert self._merging_assigner is not None
        mapping = self._open_windows.get(self._pane.key) or {}
        return MergingWindowSet(self._merging_assigner, self._windows, mapping)

    def _save(self, merging: MergingWindowSet) -> None:
        if merging.changed:
            self._open_windows.put(self._pane.key, merging.mapping)

    def _contents_at(self, merging: MergingWindowSet, window: KnownWindow) -> bytes:
        state_window = merging.state_window(window)
        assert state_window is not None
        return self._pane.key + self._windows.at(state_window).suffix

    def _merge(
        self, result: KnownWindow, parts: list[KnownWindow], state_window: bytes, moved_windows: list[bytes]
    ) -> None:
        self._check_merge(result)
        pane = self._pane
        pane.known, pane.merged = result, parts
        self._trigger.on_merge(result.window, pane)
        for part in parts:
            pane.known = part
            self._trigger.clear(part.window, pane)
            if part.cleanup_time != MAX_TIMESTAMP:
                if self._is_event_time:
                    pane.delete_event_time_timer(part.cleanup_time)
                else:
                    pane.delete_processing_time_timer(part.cleanup_time)
            self._trigger_state.close(pane.key + part.suffix)
        if moved_windows:
            places = [pane.key + self._windows.at(window).suffix for window in (state_window, *moved_windows)]
            self._contents.merge(places[0], places[1:])

    def _check_merge(self, result: KnownWindow) -> None:
        now = self.current_watermark if self._is_event_time else self._context.processing_time
        end = result.cleanup_time if self._is_event_time else result.max_timestamp
        if end <= now:
            time = "watermark" if self._is_event_time else "processing time"
            raise StateError(
                f"{self._assigner!r} merges windows to {result!r}, which ends before the current {time} {now}; a "
                "window may not end earlier than those that it is made of"
            )

    # --- time

    def _fire(self, queue: TimerQueue, until: int, domain: TimeDomain) -> None:
        self._timer_context.firing_domain = domain
        self._work(self._firing(queue, until, domain is TimeDomain.EVENT_TIME), self._timer_failure)

    def _firing(self, queue: TimerQueue, until: int, event_time: bool) -> Steps:
        """Asks the trigger about every timer."""
        pane, trigger = self._pane, self._trigger
        for timestamp, key, namespace in queue.due(until):
            self._state.current_key = pane.key = key
            self._timer_context.record_timestamp = pane.fired_at = timestamp
            known = pane.known = self._windows.at(namespace)
            merging: MergingWindowSet | None = None
            if self._merging_assigner is None:
                at = key + known.suffix
            else:
                merging = self._merging_set()
                if merging.state_window(known) is None:
                    continue  # a timer that the trigger has left behind
                at = self._contents_at(merging, known)
            on_time = trigger.on_event_time if event_time else trigger.on_processing_time
            self._obey(on_time(timestamp, known.window, pane), at)
            if event_time is self._is_event_time and timestamp == known.cleanup_time:
                self._close_window(at, merging)
            if len(self._values) >= BATCH_SIZE:
                yield

    def _obey(self, result: TriggerResult, at: bytes, *, of_record: bool = False) -> None:
        if result is TriggerResult.CONTINUE:
            return
        is_empty = result.is_fire() and not self._evaluate(at)
        # As in Flink: a record that fires a window which has no result purges nothing; a timer does.
        if result.is_purge() and not (is_empty and of_record):
            self._contents.remove(at)

    def _evaluate(self, at: bytes) -> bool:
        """Calls the window function with what is in the window, unless that is nothing: then it returns False."""
        inputs = self._contents.inputs(at)
        if inputs is not None:
            self._emit(self._call(inputs))
        return inputs is not None

    def _emit(self, results: Any) -> None:
        if results is not None:
            before = len(self._values)
            self._values.extend(results)
            self._stamps.extend(repeat(self._pane.result_time, len(self._values) - before))

    def _close_window(self, at: bytes, merging: MergingWindowSet | None) -> None:
        """The window goes away, with all that is its own."""
        pane = self._pane
        self._contents.remove(at)
        self._trigger.clear(pane.known.window, pane)
        if self._call_clear is not None:
            self._call_clear()
        of_window = pane.key + pane.known.suffix
        self._trigger_state.close(of_window)
        self._window_state.close(of_window)
        if merging is not None:
            merging.retire(pane.known)
            self._save(merging)


def timestamps_of(batch: Batch) -> list[int | None]:
    """The timestamps of the records."""
    return [None] * len(batch) if batch.timestamps is None else batch.timestamps
