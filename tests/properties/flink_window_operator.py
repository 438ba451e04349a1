"""A model of what Flink's window operators do with elements, watermarks and timers, to compare with.

Everything is a dict or a list here, and nothing is fast: the order of steps is what matters. Assigners, triggers and
evictors are those of `penstock.windows`; what is compared is the operators that they work in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.state.descriptors import ReducingStateDescriptor, StateDescriptor
from penstock.windows import Evictor, MergingWindowAssigner, TimestampedValue, Trigger, TriggerResult, WindowAssigner

MIN, MAX = -(1 << 63), (1 << 63) - 1
Timer = tuple[int, Any, Any]
"""Time, key, window."""


class Cell:
    """State of one place: a value, or what a reduce function has made of values."""

    def __init__(self, states: dict[Any, Any], at: Any, descriptor: StateDescriptor) -> None:
        self._states = states
        self._at = at
        self._descriptor = descriptor

    def get(self) -> Any:
        return self._states.get(self._at)

    value = get

    def update(self, value: Any) -> None:
        self._states[self._at] = value

    def add(self, value: Any) -> None:
        assert isinstance(self._descriptor, ReducingStateDescriptor)
        before = self.get()
        reduce: Any = self._descriptor.get_reduce_function()
        self.update(value if before is None else reduce(before, value))

    def clear(self) -> None:
        self._states.pop(self._at, None)


class Context:
    """The contexts of assigners, triggers and evictors in one."""

    key: Any
    window: Any
    merged: list[Any]

    def __init__(self, operator: FlinkWindowOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        return self._operator.processing_time

    def get_current_watermark(self) -> int:
        return self._operator.watermark

    def get_runtime_context(self) -> Context:
        return self

    def get_state(self, descriptor: StateDescriptor) -> Cell:
        return Cell(self._operator.states, (self.key, descriptor.name), descriptor)

    def get_partitioned_state(self, descriptor: StateDescriptor) -> Cell:
        return Cell(self._operator.states, (self.key, self.window, descriptor.name), descriptor)

    def merge_partitioned_state(self, descriptor: StateDescriptor) -> None:
        for window in self.merged:
            source = Cell(self._operator.states, (self.key, window, descriptor.name), descriptor)
            value = source.get()
            if value is not None:
                source.clear()
                self.get_partitioned_state(descriptor).add(value)

    def register_event_time_timer(self, time: int) -> None:
        if not self._operator.key_has_ended:
            self._operator.event_timers.add((time, self.key, self.window))

    def delete_event_time_timer(self, time: int) -> None:
        self._operator.event_timers.discard((time, self.key, self.window))

    def register_processing_time_timer(self, time: int) -> None:
        if not self._operator.key_has_ended:
            self._operator.processing_timers.add((time, self.key, self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        self._operator.processing_timers.discard((time, self.key, self.window))


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.found: dict[Any, list[Any]] = {}

    def merge(self, to_be_merged: Any, merge_result: Any) -> None:
        self.found[merge_result] = list(to_be_merged)


class FlinkWindowOperator:
    """Takes elements, watermarks and the time; `results` has (key, window, values) with their timestamps."""

    def __init__(
        self,
        assigner: WindowAssigner[Any, Any],
        trigger: Trigger[Any, Any],
        evictor: Evictor[Any, Any] | None,
        lateness: int,
        key_of: Callable[[Any], Any],
        has_result: Callable[[list[Any]], bool] = bool,
    ) -> None:
        self._assigner = assigner
        self._trigger = trigger
        self._evictor = evictor
        self._is_event_time = assigner.is_event_time()
        self._lateness = lateness
        self._key_of = key_of
        self._has_result = has_result
        """Whether something is made of such values; not for windows with an evictor, which emit what there is."""
        self.watermark, self.processing_time = MIN, 0
        self._fired_at = MIN
        self.key_has_ended = False
        self.event_timers: set[Timer] = set()
        self.processing_timers: set[Timer] = set()
        self.states: dict[Any, Any] = {}
        self.contents: dict[Any, list[tuple[Any, int]]] = {}
        self.merging: dict[Any, dict[Any, Any]] = {}
        self.results: list[Any] = []
        self.late: list[tuple[Any, int]] = []
        self._context: Any = Context(self)

    def process_element(self, value: Any, timestamp: int) -> None:
        key = self._context.key = self._key_of(value)
        self._fired_at = timestamp
        is_skipped = True
        for window in self._assigner.assign_windows(value, timestamp, self._context):
            actual = state_window = window
            if isinstance(self._assigner, MergingWindowAssigner):
                actual = self._add_window(key, window)
                if self._is_window_late(actual):
                    del self.merging[key][actual]
                    continue
                state_window = self.merging[key][actual]
            elif self._is_window_late(window):
                continue
            is_skipped = False
            self.contents.setdefault((key, state_window), []).append((value, timestamp))
            self._context.window = actual
            result = self._trigger.on_element(value, timestamp, actual, self._context)
            self._do(result, key, actual, state_window, is_element=True)
            # Flink forgets to clean up where `_do` finds no result: docs/concepts/windows.md.
            if self._cleanup_time(actual) != MAX:
                self._register_cleanup(self._cleanup_time(actual))
        if is_skipped and self._is_event_time and timestamp + self._lateness <= self.watermark:
            self.late.append((value, timestamp))

    def process_watermark(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            self._fire(self.event_timers, watermark, is_event_time=True)

    def set_processing_time(self, now: int) -> None:
        """Flink's clock calls a timer when its millisecond is over."""
        self.processing_time = now
        self._fire(self.processing_timers, now - 1, is_event_time=False)

    def process_batch(self, records: Iterable[tuple[Any, int]]) -> None:
        """Batch execution: one key after the other, by time; at its end all timers fire, and set no new ones."""
        of_keys: dict[Any, list[tuple[Any, int]]] = {}
        for value, timestamp in records:
            of_keys.setdefault(self._key_of(value), []).append((value, timestamp))
        for of_key in of_keys.values():
            self.watermark, self.key_has_ended = MIN, False
            for value, timestamp in sorted(of_key, key=lambda each: each[1]):
                self.process_element(value, timestamp)
            self.watermark, self.key_has_ended = MAX, True
            self._fire(self.event_timers, MAX, is_event_time=True)
            self._fire(self.processing_timers, MAX, is_event_time=False)

    def _fire(self, timers: set[Timer], until: int, *, is_event_time: bool) -> None:
        while due := [timer for timer in timers if timer[0] <= until]:
            timer = min(due, key=lambda each: (each[0], each[1], repr(each[2])))
            timers.discard(timer)
            time, key, window = timer
            self._context.key, self._context.window = key, window
            self._fired_at = time
            state_window = window
            if isinstance(self._assigner, MergingWindowAssigner):
                state_window = self.merging[key].get(window)
                if state_window is None:
                    continue
            on_time = self._trigger.on_event_time if is_event_time else self._trigger.on_processing_time
            self._do(on_time(time, window, self._context), key, window, state_window)
            if is_event_time is self._is_event_time and time == self._cleanup_time(window):
                self.contents.pop((key, state_window), None)
                self._trigger.clear(window, self._context)
                if isinstance(self._assigner, MergingWindowAssigner):
                    del self.merging[key][window]

    def _do(self, result: TriggerResult, key: Any, window: Any, state_window: Any, *, is_element: bool = False) -> None:
        if result.is_fire():
            values = [value for value, _ in self.contents.get((key, state_window), ())]
            if values and self._has_result(values):
                self._emit(key, window, state_window)
            elif is_element:
                return
        if result.is_purge():
            self.contents.pop((key, state_window), None)

    def _emit(self, key: Any, window: Any, state_window: Any) -> None:
        elements = [TimestampedValue(*each) for each in self.contents[key, state_window]]
        if self._evictor is not None:
            self._evictor.evict_before(elements, len(elements), window, self._context)
        values = [each.get_value() for each in elements]
        # Where a window has no end: as in PyFlink.
        last = window.max_timestamp()
        self.results.append(((key, repr(window), values), last if last != MAX else self._fired_at))
        if self._evictor is not None:
            self._evictor.evict_after(elements, len(elements), window, self._context)
        self.contents[key, state_window] = [(each.get_value(), each.get_timestamp()) for each in elements]

    def _add_window(self, key: Any, new: Any) -> Any:
        assert isinstance(self._assigner, MergingWindowAssigner)
        mapping = self.merging.setdefault(key, {})
        merges = _Merges()
        self._assigner.merge_windows([*mapping, new], merges)
        result, is_merged = new, False
        for made, parts in merges.found.items():
            if new in parts:
                parts.remove(new)
                result, is_merged = made, True
            state_window = mapping[parts[0]]
            moved = [mapping.pop(part) for part in parts]
            mapping[made] = state_window
            moved.remove(state_window)
            if parts != [made]:
                self._merge(key, made, parts, state_window, moved)
        if not is_merged:
            # Flink forgets the contents of a merged window that is equal to `new`: docs/concepts/windows.md.
            mapping.setdefault(new, new)
        return result

    def _merge(self, key: Any, made: Any, parts: list[Any], state_window: Any, moved: list[Any]) -> None:
        self._context.window, self._context.merged = made, parts
        self._trigger.on_merge(made, self._context)
        for part in parts:
            self._context.window = part
            self._trigger.clear(part, self._context)
            if self._is_event_time:
                self._context.delete_event_time_timer(self._cleanup_time(part))
            else:
                self._context.delete_processing_time_timer(self._cleanup_time(part))
        for window in moved:
            self.contents.setdefault((key, state_window), []).extend(self.contents.pop((key, window), []))

    def _cleanup_time(self, window: Any) -> int:
        return min(window.max_timestamp() + (self._lateness if self._is_event_time else 0), MAX)

    def _is_window_late(self, window: Any) -> bool:
        return self._is_event_time and self._cleanup_time(window) <= self.watermark

    def _register_cleanup(self, time: int) -> None:
        if self._is_event_time:
            self._context.register_event_time_timer(time)
        else:
            self._context.register_processing_time_timer(time)
