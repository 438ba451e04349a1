"""The operator behind session windows with the usual trigger: the same results on a shorter way."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import repeat
from struct import Struct
from typing import Any

from penstock.common.batch import Batch
from penstock.common.typeinfo import Types
from penstock.runtime.known_windows import KnownWindow
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK, OperatorContext
from penstock.runtime.result_sender import BATCH_SIZE
from penstock.runtime.timers import TimerQueue
from penstock.runtime.window_contents import WindowsOfKeys
from penstock.runtime.window_operator import Steps, WindowOperator, timestamps_of
from penstock.state.namespaced_keys import namespace_suffix
from penstock.windows.assigner import require_timestamp
from penstock.windows.nesting_triggers import PurgingTrigger
from penstock.windows.session import SessionWindows
from penstock.windows.window import TimeWindow

_TWO_LONGS = Struct(">qq")

_SESSIONS = Types.LIST(Types.TUPLE([Types.LONG(), Types.LONG(), Types.PRIMITIVE_ARRAY(Types.BYTE())]))

Session = tuple[int, int, bytes]
"""Start, end, and the name that its contents and timers have: the window that it began as, as a suffix of keys.

Those of a key are kept in the order of their times.
"""


class SessionWindowOperator(WindowOperator):
    """Knows the trigger, so it need not move timers with every record.

    A session has a timer at its end, or before: one that comes too early is set again at the end. The timer that
    comes at the end fires the session; where there is a lateness, another one then removes it.
    """

    def open(self, context: OperatorContext) -> None:
        """Opens the window function."""
        super().open(context)
        assert isinstance(self._assigner, SessionWindows)
        self._gap_of: Callable[[Any], int] = self._assigner.gap_of
        self._open_windows = WindowsOfKeys(context, "window: sessions", _SESSIONS)
        self._queue = self._timers.event_time if self._is_event_time else self._timers.processing_time
        self._purges = isinstance(self._trigger, PurgingTrigger)

    def _add_all(self, batch: Batch, records: Iterator[Any]) -> Steps:
        event_time, lateness, gap_of = self._is_event_time, self._lateness, self._gap_of
        watermark = self.current_watermark if event_time else MIN_WATERMARK
        times = timestamps_of(batch) if event_time else repeat(self._context.processing_time, len(batch))
        get, put, add = self._open_windows.get, self._open_windows.put, self._contents.add
        for key, time, value in zip(batch.keys or (), times, records, strict=True):
            if time is None:
                require_timestamp(time, self._assigner)
                continue
            end = time + gap_of(value)
            sessions: list[Session] = get(key) or []
            # Sessions do not touch each other: those that the record touches are neighbours, and mostly the last one.
            after = len(sessions)
            if after and sessions[-1][0] > end:
                after = bisect_left(sessions, (end + 1,))
            first = after
            while first and sessions[first - 1][1] >= time:
                first -= 1
            if first == after:
                if end - 1 + lateness <= watermark:
                    self._skip(value, time, had_windows=True)
                    continue
                session = self._begin(key, time, end, is_over=end - 1 <= watermark)
                sessions.insert(after, session)
                put(key, sessions)
            else:
                session = sessions[first]
                if after - first > 1 or session[0] > time or session[1] < end:
                    session = self._merged(key, time, end, sessions[first:after], watermark)
                    sessions[first:after] = [session]
                    put(key, sessions)
            add(key + session[2], value)
            if session[1] - 1 <= watermark:
                self._fire_session(key, session)
            if len(self._values) >= BATCH_SIZE:
                yield

    def _begin(self, key: bytes, start: int, end: int, *, is_over: bool) -> Session:
        name = namespace_suffix(_TWO_LONGS.pack(start, end))
        # A session that has contents under this name is there from `start` to `end`, and would have been touched.
        self._contents.begin(key + name)
        self._queue.register(self._cleanup_time(end) if is_over else end - 1, key, name)
        return start, end, name

    def _merged(self, key: bytes, time: int, end: int, touched: list[Session], watermark: int) -> Session:
        """One session of neighbours and a record; the first one goes on, and takes what the others have."""
        first = touched[0]
        last_end = max(end, touched[-1][1])
        if first[1] - 1 <= watermark:
            # Its own end is past: no timer waits for the new one.
            is_over = last_end - 1 <= watermark
            self._queue.register(self._cleanup_time(last_end) if is_over else last_end - 1, key, first[2])
        if len(touched) > 1:
            places = [key + each[2] for each in touched]
            self._contents.merge(places[0], places[1:])
        return min(time, first[0]), last_end, first[2]

    def _firing(self, queue: TimerQueue, until: int, event_time: bool) -> Steps:
        if event_time is not self._is_event_time:
            return
        lateness = self._lateness
        for timestamp, key, name in queue.due(until):
            self._timer_context.record_timestamp = timestamp
            sessions: list[Session] = self._open_windows.get(key) or []
            place = next((place for place, each in enumerate(sessions) if each[2] == name), None)
            if place is None:
                continue  # it is a part of another one
            session = sessions[place]
            last = session[1] - 1
            if last > timestamp:
                queue.register(last, key, name)
                continue
            if last == timestamp and lateness:
                self._fire_session(key, session)
                queue.register(self._cleanup_time(session[1]), key, name)
            if timestamp == self._cleanup_time(session[1]):
                self._end_session(key, session, fires=not lateness)
                del sessions[place]
                self._open_windows.put(key, sessions)
            if len(self._values) >= BATCH_SIZE:
                yield

    def _cleanup_time(self, end: int) -> int:
        return min(end - 1 + self._lateness, MAX_WATERMARK)

    def _fire_session(self, key: bytes, session: Session) -> None:
        self._set_pane(key, session)
        at = key + session[2]
        self._evaluate(at)
        if self._purges:
            self._contents.remove(at)

    def _end_session(self, key: bytes, session: Session, *, fires: bool) -> None:
        self._set_pane(key, session)
        at = key + session[2]
        if not fires:
            self._contents.remove(at)
        elif (inputs := self._contents.take(at)) is not None:
            self._emit(self._call(inputs))
        if self._call_clear is not None:
            self._call_clear()

    def _set_pane(self, key: bytes, session: Session) -> None:
        self._state.current_key = self._pane.key = key
        window = TimeWindow(session[0], session[1])
        self._pane.known = KnownWindow(window, _TWO_LONGS.pack(session[0], session[1]), self._lateness)
