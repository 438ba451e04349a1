"""Timers in time order: kept in the store, changed in memory until the end of the epoch."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import islice
from typing import Any

from penstock.common.errors import StateError
from penstock.common.time import whole_milliseconds
from penstock.functions.timer_service import TimeDomain
from penstock.state.key_groups import key_group
from penstock.state.state_keys import end_of_prefix
from penstock.state.store import StateStore
from penstock.state.timer_keys import (
    EVENT_TIME_TAG,
    PROCESSING_TIME_TAG,
    TIMER_HEAD,
    TIMESTAMP_OFFSET,
    time_in,
    timer_in,
    timer_key,
)

Timer = tuple[int, bytes, bytes]
"""Timestamp, encoded key, namespace."""

_DOMAIN_TAGS = {TimeDomain.EVENT_TIME: EVENT_TIME_TAG, TimeDomain.PROCESSING_TIME: PROCESSING_TIME_TAG}
_BEFORE_ALL_TIME = -(1 << 63) - 1
_SMALLEST_LOAD, _LARGEST_LOAD = 16, 16384
_MOST_GROUPS = 1 << 16


def timer_prefix(uid: str, domain: TimeDomain) -> bytes:
    """What the store keys of all timers of an operator begin with."""
    return blake2b(uid.encode(), digest_size=8).digest() + _DOMAIN_TAGS[domain]


def stored_timers(store: StateStore, uid: str) -> Iterator[Timer]:
    """All timers of an operator that the store has."""
    for domain in TimeDomain:
        prefix = timer_prefix(uid, domain)
        for key, _ in store.scan(prefix, end_of_prefix(prefix)):
            yield timer_in(key)


class TimerQueue:
    """The timers of one operator subtask and time domain: one per timestamp, key and namespace.

    A stored timer is an entry without a value; its key (`timer_keys`) makes the store's order the order of firing.
    The store is read a few timers at a time and written by `flush` only: a timer that is set and fires within an epoch
    never gets there.
    """

    def __init__(self, store: StateStore, uid: str, domain: TimeDomain, max_parallelism: int) -> None:
        self._store = store
        self._max_parallelism = max_parallelism
        self._prefix = timer_prefix(uid, domain)
        self._end = self._prefix + b"\xff" * (TIMER_HEAD.size + 1)
        self._changed: dict[Timer, bool] = {}
        """What is not in the store yet: True for timers that are set, False for such as are gone."""
        self._added: list[tuple[bytes, Timer]] = []
        """A heap of timers that were set, by their store keys; what `_changed` says of them now decides."""
        self._later: dict[int, list[Timer]] = {}
        """Timers that were set for times beyond those that were asked for: windows set many for the same time."""
        self._later_times: list[int] = []
        """A heap of the times in `_later`."""
        self._ripe_until = _BEFORE_ALL_TIME
        """Timers up to here are not in `_later`."""
        self._stored_times: dict[int, bool] = {}
        """Whether the store has timers for a time."""
        self._loaded: list[bytes] = []
        """Store keys read from the store, the last one first; what `_changed` says of them now decides."""
        self._load_from = self._prefix
        self._load_size = _SMALLEST_LOAD
        self._groups: dict[bytes, int] = {}
        """The key groups of keys that were seen lately."""

    def register(self, timestamp: int, key: bytes, namespace: bytes = b"") -> None:
        """Sets a timer; one that is set already stays as it is."""
        if type(timestamp) is not int:
            timestamp = _whole(timestamp)
        timer = (timestamp, key, namespace)
        if self._changed.get(timer):
            return
        if timestamp <= self._ripe_until:
            heappush(self._added, (self._store_key(timer), timer))
        else:
            at_that_time = self._later.get(timestamp)
            if at_that_time is None:
                self._store_key(timer)  # refuses what is no time
                heappush(self._later_times, timestamp)
                at_that_time = self._later[timestamp] = []
            at_that_time.append(timer)
        self._changed[timer] = True

    def delete(self, timestamp: int, key: bytes, namespace: bytes = b"") -> None:
        """Takes a timer back; nothing happens when there is none."""
        if type(timestamp) is not int:
            timestamp = _whole(timestamp)
        timer = (timestamp, key, namespace)
        if timer not in self._changed:
            self._store_key(timer)  # refuses what is no time here, not in `flush`
        self._changed[timer] = False

    def due(self, timestamp: int) -> Iterator[Timer]:
        """Takes out the timers up to a time, in order; one that is set meanwhile comes in its turn."""
        self._ripen(timestamp)
        end = self._last_of(timestamp)
        while (timer := self._head(end)) is not None:
            if self.has_stored(timer[0]):
                self._changed[timer] = False
            else:
                del self._changed[timer]
                heappop(self._added)
            yield timer

    def has_stored(self, timestamp: int) -> bool:
        """Whether the store has timers for a time; it cannot come to have some before `flush`."""
        known = self._stored_times.get(timestamp)
        if known is None:
            first, last = self._prefix + TIMER_HEAD.pack(timestamp + TIMESTAMP_OFFSET, 0, 0), self._last_of(timestamp)
            # What was read of the store is known without another look.
            is_stored = last > self._load_from and next(iter(self._store.scan(first, last)), None) is not None
            known = self._stored_times[timestamp] = is_stored
        return known

    @property
    def is_changed(self) -> bool:
        """Whether a timer was set or taken back, or fired, since the last `flush`."""
        return bool(self._changed)

    def earliest(self) -> int | None:
        """The timestamp of the first timer."""
        timer = self._head(self._end)
        later = self._first_later()
        if timer is None or later is None:
            return later if timer is None else timer[0]
        return min(timer[0], later)

    def flush(self) -> None:
        """Writes the changes to the store."""
        if not self._changed:
            return
        for timer, is_set in self._changed.items():
            store_key = self._store_key(timer)
            if is_set:
                self._store.put(store_key, b"")
            elif self._store.get(store_key) is not None:
                self._store.delete(store_key)
        self.drop_caches()

    def drop_caches(self) -> None:
        """Forgets everything that is not in the store, and what was read from it."""
        self._changed = {}
        self._added = []
        self._later = {}
        self._later_times = []
        self._ripe_until = _BEFORE_ALL_TIME
        self._stored_times = {}
        self._loaded = []
        self._load_from = self._prefix
        self._load_size = _SMALLEST_LOAD

    def _first_later(self) -> int | None:
        """The first time in `_later` whose timers have not all been taken back."""
        while self._later_times:
            timestamp = self._later_times[0]
            if any(map(self._changed.get, self._later[timestamp])):
                return timestamp
            del self._later[heappop(self._later_times)]
        return None

    def _ripen(self, timestamp: int) -> None:
        """Puts timers up to a time in order."""
        self._ripe_until = max(self._ripe_until, timestamp)
        ripe = self._added
        before = len(ripe)
        while self._later_times and self._later_times[0] <= timestamp:
            for timer in self._later.pop(heappop(self._later_times)):
                if self._changed.get(timer):
                    ripe.append((self._store_key(timer), timer))
        if len(ripe) > before:
            ripe.sort()  # what is sorted is a heap

    def _head(self, end: bytes) -> Timer | None:
        """The first timer, if it is before `end`; what is no longer set is left behind."""
        changed, added = self._changed, self._added
        first: Timer | None = None
        while self._loaded or self._load(end):
            first = timer_in(self._loaded[-1])
            if changed.get(first, True):
                break
            self._loaded.pop()
            first = None
        while added and not changed.get(added[0][1]):
            heappop(added)
        head = end if first is None else self._loaded[-1]
        if added and added[0][0] < head:
            head, first = added[0]
        return first if head < end else None

    def _load(self, end: bytes) -> bool:
        """Reads the next timers before `end` from the store; false when there are none left."""
        if self._load_from >= end:
            return False
        found = [key for key, _ in islice(self._store.scan(self._load_from, end), self._load_size)]
        self._load_from = found[-1] + b"\x00" if len(found) == self._load_size else end
        self._load_size = min(2 * self._load_size, _LARGEST_LOAD)
        self._stored_times.update(dict.fromkeys(map(time_in, found), True))
        found.reverse()
        self._loaded = found
        return bool(found)

    def _last_of(self, timestamp: int) -> bytes:
        """Where the timers of a time end in the store."""
        return self._prefix + TIMER_HEAD.pack(timestamp + TIMESTAMP_OFFSET, 0xFFFF, 0xFFFFFFFF)

    def _store_key(self, timer: Timer) -> bytes:
        timestamp, key, namespace = timer
        try:
            return timer_key(self._prefix, timestamp, self._group(key), key, namespace)
        except struct.error:
            raise _no_time(timestamp) from None

    def _group(self, key: bytes) -> int:
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                self._groups.clear()
            group = self._groups[key] = key_group(key, self._max_parallelism)
        return group


def _whole(timestamp: Any) -> int:
    try:
        return whole_milliseconds(timestamp)
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise _no_time(timestamp) from None


def _no_time(timestamp: Any) -> StateError:
    return StateError(f"a timer for {timestamp!r}; expected a time in milliseconds that fits into 64 bits")
