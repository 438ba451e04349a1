"""The operator behind session windows with the usual trigger: the same results on a shorter way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count, repeat
from operator import attrgetter
from struct import Struct
from typing import Any

from penstock.common.batch import Batch
from penstock.common.watermark_generator import MAX_TIMESTAMP
from penstock.runtime.known_windows import KnownWindow
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK, OperatorContext
from penstock.runtime.result_sender import BATCH_SIZE
from penstock.runtime.session_state_form import MERGING_WINDOWS, SESSIONS_OF_KEYS, SESSIONS_TYPE
from penstock.runtime.timers import TimerQueue
from penstock.runtime.window_contents import WindowsOfKeys
from penstock.runtime.window_operator import Steps, WindowOperator, timestamps_of
from penstock.state.namespaced_keys import namespace_suffix
from penstock.windows.assigner import require_timestamp
from penstock.windows.nesting_triggers import PurgingTrigger
from penstock.windows.session import SessionWindows
from penstock.windows.trigger import TriggerResult
from penstock.windows.window import TimeWindow

_TWO_LONGS = Struct(">qq")
_START = attrgetter("start")


class Session:
    """A session of one key."""

    __slots__ = ("content", "end", "is_over", "name", "start")

    def __init__(self, start: int, end: int, name: bytes | None, content: Any = None) -> None:
        self.start = start
        self.end = end
        self.name = name
        """What its contents and timers have in the state: a suffix of keys. None while they are not there."""
        self.content = content
        """What it has, while that is not in the state."""
        self.is_over = False
        """It has fired, or is a part of another one."""


class SessionWindowOperator(WindowOperator):
    """Knows the trigger, so it need not move timers with every record.

    A session has a timer at its end, or before: one that comes too early is set again at the end. The timer that
    comes at the end fires the session; where there is a lateness, another one then removes it.

    A session that begins in an epoch needs neither state nor a timer in the store before the epoch ends; most sessions
    of a job that catches up are over by then.
    """

    _form_of_others = MERGING_WINDOWS

    def open(self, context: OperatorContext) -> None:
        """Opens the window function."""
        super().open(context)
        assert isinstance(self._assigner, SessionWindows)
        self._gap_of: Callable[[Any], int] = self._assigner.gap_of
        self._open_windows = WindowsOfKeys(context, SESSIONS_OF_KEYS, SESSIONS_TYPE)
        self._queue = self._timers.event_time if self._is_event_time else self._timers.processing_time
        self._fires = TriggerResult.FIRE
        if isinstance(self._trigger, PurgingTrigger):
            self._fires = TriggerResult.FIRE_AND_PURGE
        # In batch execution there is one key at a time, and its sessions are over when it is.
        self._keeps_sessions = self._is_event_time and not self._lateness and not context.batch
        self._sessions: dict[bytes, list[Session]] = {}
        """The sessions of keys that were seen in this epoch, in the order of their times."""
        self._changed: set[bytes] = set()
        self._ends: list[tuple[int, bytes, int, Session]] = []
        """A heap of times at which to look at sessions; the number keeps sessions from being compared."""
        self._fresh: list[tuple[bytes, Session]] = []
        """Sessions that began since event time last rose: most of a job that catches up end when it rises again."""
        self._numbers = count()
        self._sends_contents = self._definition.window_function is None

    def end_epoch(self) -> None:
        """Writes state and timers to the store."""
        for _, key, _, session in self._ends:
            if not session.is_over and session.name is not None:
                self._queue.register(session.end - 1, key, session.name)
        for key in self._changed:
            sessions = self._sessions[key]
            for session in sessions:
                self._store(key, session)
            self._open_windows.put(key, [(each.start, each.end, each.name) for each in sessions])
        self._forget_sessions()
        super().end_epoch()

    def forget_key(self) -> None:
        """Forgets the sessions of the current key."""
        super().forget_key()
        self._forget_sessions()

    def _set_timers_anew(self) -> None:
        self._go_on_with_sessions(SESSIONS_OF_KEYS)

    def _open_window(self, key: bytes, known: KnownWindow, state_window: bytes, *, fires: bool = True) -> None:
        session = Session(known.window.start, known.window.end, namespace_suffix(state_window))
        is_past = self._is_event_time and session.end - 1 <= self.current_watermark
        self._set_timer(key, session, is_past=is_past)
        self._open_windows.put(key, [*(self._open_windows.get(key) or ()), (session.start, session.end, session.name)])

    def _forget_sessions(self) -> None:
        self._sessions.clear()
        self._changed.clear()
        self._ends.clear()
        self._fresh.clear()

    def _add_all(self, batch: Batch, records: Iterator[Any]) -> Steps:
        event_time, lateness, gap_of = self._is_event_time, self._lateness, self._gap_of
        watermark = self.current_watermark if event_time else MIN_WATERMARK
        times = timestamps_of(batch) if event_time else repeat(self._context.processing_time, len(batch))
        known, folded, changed = self._sessions, self._contents.folded, self._changed
        for key, time, value in zip(batch.keys or (), times, records, strict=True):
            if time is None:
                require_timestamp(time, self._assigner)
                continue
            end = min(time + gap_of(value), MAX_TIMESTAMP)
            sessions = known.get(key) or self._sessions_of(key)
            # Sessions do not touch each other: those that the record touches are neighbours, and mostly the last one.
            after = len(sessions)
            if after and sessions[-1].start > end:
                after = bisect_right(sessions, end, key=_START)
            first = after
            while first and sessions[first - 1].end >= time:
                first -= 1
            # What it touches may be late, too: kept by a program that had more lateness.
            is_late = end - 1 + lateness <= watermark
            if is_late and (first == after or sessions[after - 1].end - 1 + lateness <= watermark):
                self._skip(value, time, had_windows=True)
                continue
            if first == after:
                session = self._begin(key, time, end, is_past=end - 1 <= watermark)
                sessions.insert(after, session)
            else:
                session = sessions[first]
                if session.start <= time and session.end - 1 > watermark and after - first == 1:
                    changed.add(key)
                    session.end = max(end, session.end)
                else:
                    self._extend(key, time, end, sessions[first:after], watermark)
                    del sessions[first + 1 : after]
            if session.name is None:
                session.content = folded(session.content, value)
            else:
                self._add_to_stored(key + session.name, key, session, value)
            if len(self._values) >= BATCH_SIZE:
                yield

    def _add_to_stored(self, at: bytes, key: bytes, session: Session, value: Any) -> None:
        self._contents.add(at, value)
        if self._is_event_time and session.end - 1 <= self.current_watermark:
            self._fire_session(key, session, of_record=True)

    def _sessions_of(self, key: bytes) -> list[Session]:
        sessions = self._sessions.get(key)
        if sessions is None:
            stored = self._open_windows.get(key) or ()
            sessions = self._sessions[key] = sorted([Session(*each) for each in stored], key=_START)
        return sessions

    def _begin(self, key: bytes, start: int, end: int, *, is_past: bool) -> Session:
        self._changed.add(key)
        session = Session(start, end, None)
        if self._keeps_sessions:
            self._fresh.append((key, session))
        else:
            self._name(key, session)
            self._set_timer(key, session, is_past=is_past)
        return session

    def _look_at(self, time: int, key: bytes, session: Session) -> None:
        heappush(self._ends, (time, key, next(self._numbers), session))

    def _name(self, key: bytes, session: Session) -> bytes:
        name = session.name = namespace_suffix(_TWO_LONGS.pack(session.start, session.end))
        # A session that has contents under this name would be there from `start` to `end`, too.
        self._contents.begin(key + name)
        return name

    def _set_timer(self, key: bytes, session: Session, *, is_past: bool) -> None:
        assert session.name is not None
        time = self._cleanup_time(session.end) if is_past else session.end - 1
        self._queue.register(time, key, session.name)

    def _store(self, key: bytes, session: Session) -> bytes:
        """Moves what a session has to the state; returns where it is."""
        if session.name is None:
            self._contents.put(key + self._name(key, session), session.content)
            session.content = None
            self._set_timer(key, session, is_past=False)
        assert session.name is not None
        return key + session.name

    def _extend(self, key: bytes, time: int, end: int, touched: list[Session], watermark: int) -> None:
        """One session of neighbours and a record; the first one goes on, and takes what the others have."""
        self._changed.add(key)
        session = touched[0]
        if len(touched) > 1:
            places = [self._store(key, each) for each in touched]
            self._contents.merge(places[0], places[1:])
            for each in touched[1:]:
                each.is_over = True
        was_past = session.end - 1 <= watermark
        session.start, session.end = min(time, session.start), max(end, touched[-1].end)
        if was_past:
            # Its own end is past: no timer waits for the new one.
            self._set_timer(key, session, is_past=session.end - 1 <= watermark)

    def _firing(self, queue: TimerQueue, until: int, event_time: bool) -> Steps:
        if event_time is not self._is_event_time:
            return
        firing = self._firing_in_order if self._keeps_sessions else self._firing_late
        yield from firing(queue, until)

    def _firing_in_order(self, queue: TimerQueue, until: int) -> Steps:
        """Without lateness: what fires is over."""
        for timestamp, key, name in queue.due(until):
            session = self._named(key, name)
            if session is None:
                continue
            if timestamp > session.end - 1:
                # It fired when its end came, and was kept by a program that had lateness.
                self._end_session(key, session, fires=False)
            else:
                self._look_at(timestamp, key, session)
        for _, key, _, session in self._over(until):
            if not session.is_over:
                self._end_session(key, session, fires=True)
                if len(self._values) >= BATCH_SIZE:
                    yield

    def _over(self, until: int) -> list[tuple[int, bytes, int, Session]]:
        """The sessions that end up to a time, in the order of their ends; one may be there twice."""
        ends, numbers = self._ends, self._numbers
        fresh, self._fresh = self._fresh, []
        over: list[tuple[int, bytes, int, Session]] = []
        for key, session in fresh:
            if not session.is_over:
                if session.end - 1 <= until:
                    over.append((session.end - 1, key, next(numbers), session))
                else:
                    heappush(ends, (session.end - 1, key, next(numbers), session))
        while ends and ends[0][0] <= until:
            _, key, number, session = heappop(ends)
            if not session.is_over:
                if session.end - 1 <= until:
                    over.append((session.end - 1, key, number, session))
                else:
                    heappush(ends, (session.end - 1, key, number, session))
        over.sort()
        return over

    def _firing_late(self, queue: TimerQueue, until: int) -> Steps:
        lateness = self._lateness
        for timestamp, key, name in queue.due(until):
            session = self._named(key, name)
            if session is None:
                continue
            last = session.end - 1
            if last > timestamp:
                queue.register(last, key, name)
                continue
            self._timer_context.record_timestamp = timestamp
            if last == timestamp and lateness:
                self._fire_session(key, session)
                queue.register(self._cleanup_time(session.end), key, name)
            if timestamp >= self._cleanup_time(session.end):
                self._end_session(key, session, fires=not lateness)
            elif timestamp > last:
                # Set by a program that had less lateness.
                queue.register(self._cleanup_time(session.end), key, name)
            if len(self._values) >= BATCH_SIZE:
                yield

    def _named(self, key: bytes, name: bytes) -> Session | None:
        """The session of a timer; None when it is a part of another one."""
        return next((each for each in self._sessions_of(key) if each.name == name), None)

    def _cleanup_time(self, end: int) -> int:
        return min(end - 1 + self._lateness, MAX_WATERMARK)

    def _fire_session(self, key: bytes, session: Session, *, of_record: bool = False) -> None:
        assert session.name is not None
        self._set_pane(key, session)
        self._obey(self._fires, key + session.name, of_record=of_record)

    def _end_session(self, key: bytes, session: Session, *, fires: bool) -> None:
        session.is_over = True
        self._sessions[key].remove(session)
        self._changed.add(key)
        self._state.current_key = self._pane.key = key
        if session.name is None and self._sends_contents:
            contents = self._contents.inputs_of(session.content)
            if contents is not None:
                self._values += contents
                self._stamps += [session.end - 1] * len(contents)
            return
        self._set_pane(key, session)
        self._timer_context.record_timestamp = session.end - 1
        inputs: list[Any] | None = None
        if session.name is None:
            inputs = self._contents.inputs_of(session.content)
        elif fires:
            inputs = self._contents.take(key + session.name)
        else:
            self._contents.remove(key + session.name)
        if inputs is not None:
            self._emit(self._call(inputs))
        if self._call_clear is not None:
            self._call_clear()

    def _set_pane(self, key: bytes, session: Session) -> None:
        self._state.current_key = self._pane.key = key
        window = TimeWindow(session.start, session.end)
        self._pane.known = KnownWindow(window, _TWO_LONGS.pack(session.start, session.end), self._lateness)
