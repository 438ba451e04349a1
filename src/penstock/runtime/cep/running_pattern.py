"""A pattern at work in a subtask: its automaton, and what all keys have of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from penstock.common.batch import Batch, RecordCodec
from penstock.common.typeinfo import TypeInformation
from penstock.patterns import PatternDefinition
from penstock.runtime.cep.beginnings import Beginnings, Numbers, Prospects
from penstock.runtime.cep.condition_tests import ConditionTests, Masks
from penstock.runtime.cep.match_store import MatchStore
from penstock.runtime.cep.matches import NEVER, Event, KeyMatches
from penstock.runtime.cep.near_misses import NearMissObserver
from penstock.runtime.cep.nfa import Nfa
from penstock.runtime.operator import OperatorContext


class Outcome(Enum):
    """What came of a partial match."""

    MATCH = "match"
    TIMED_OUT = "timed out"
    NEAR_MISS = "near miss"


Result = tuple[Outcome, Any, int]
"""What came of it, the match or `NearMiss`, and its time."""


class WaitingEvents(NamedTuple):
    """Events of a key in the order of time: those from one place to another in a row of events."""

    times: Sequence[int]
    masks: Sequence[int]
    source: Any
    """Gives the event at a place: `source[place]`."""
    first: int
    end: int
    begin: Sequence[int] | None = None
    """The places in the row where a match may begin, in ascending order; None: anywhere."""


class RunningPattern:
    """Works on one key at a time."""

    def __init__(
        self,
        pattern_id: str,
        definition: PatternDefinition,
        record_type: TypeInformation | None,
        context: OperatorContext,
        *,
        state_name: str,
        limit: int,
        wants_timed_out: bool,
        wants_near_misses: bool,
    ) -> None:
        self.id = pattern_id
        self._tests = ConditionTests(record_type)
        self._observer = NearMissObserver(self._tests) if wants_near_misses else None
        self._nfa = Nfa(
            definition,
            self._tests,
            limit=limit,
            processing_time=lambda: context.processing_time,
            wants_timed_out=wants_timed_out,
            observer=self._observer,
        )
        self._beginnings = Beginnings(self._nfa, self._tests.bits)
        self.store = MatchStore(context.store, context.uid, state_name, context.max_parallelism, self._nfa)

    @property
    def needs_values(self) -> bool:
        """Whether its conditions ask for events themselves, and not for their masks alone."""
        return self._nfa.needs_values

    @property
    def idle_mask(self) -> int | None:
        """Events with exactly this mask change nothing."""
        return self._nfa.idle_mask

    def masks(self, batch: Batch) -> Masks:
        """What its conditions say of the events of a batch."""
        if not self._tests.has_bits:
            return np.zeros(len(batch), np.int64)
        return self._tests.masks(batch.columns, len(batch))

    def masks_of_values(self, values: list[Any], codec: RecordCodec) -> list[int]:
        """What its conditions say of some events."""
        return self._tests.masks_of_values(values, codec)

    def prospects(self, masks: Masks, times: Numbers, starts: Numbers) -> Prospects | None:
        """Where matches may begin in events that are sorted by key and time; None: anywhere."""
        return self._beginnings.find(masks, times, starts)

    def is_idle(self, key: bytes) -> bool:
        """Whether a key has no partial match."""
        matches = self.store.get(key)
        return matches is None or matches.is_empty

    def work(
        self,
        key: bytes,
        events: WaitingEvents,
        until: int | None,
        current: Callable[[Event], None],
        wake: Callable[[int, bytes], None],
    ) -> Iterator[Result]:
        """Takes in the events of a key, in the order of time; then its time has come to `until`.

        `current` is told which event is worked on, `wake` when the key has to be looked at again, whatever comes.
        """
        nfa, (times, masks, source, place, end, begin) = self._nfa, events
        matches = self.store.get(key)
        start_mask = nfa.start_mask
        is_empty = matches is None or matches.is_empty
        following = 0
        while place < end:
            if is_empty and begin is not None:
                following = bisect_left(begin, place, following)
                if following == len(begin) or begin[following] >= end:
                    break
                place = begin[following]
            time, mask = times[place], masks[place]
            place += 1
            if is_empty and start_mask is not None and not mask & start_mask:
                continue
            if matches is None:
                matches = nfa.new_matches()
            elif time >= matches.deadline:
                yield from self._pass_time(matches, time)
            event = Event(None, time, mask, -1, source, place - 1)
            current(event)
            found = nfa.process(matches, event)
            is_empty = len(matches.partials) == 1 and not matches.completed
            for match in found:
                yield Outcome.MATCH, match, time
            if self._observer is not None:
                yield from self._near_misses()
        if matches is not None:
            yield from self._settle(key, matches, until, wake)

    def _settle(
        self, key: bytes, matches: KeyMatches, until: int | None, wake: Callable[[int, bytes], None]
    ) -> Iterator[Result]:
        """The events of a key are taken in: time passes, and what there is is kept."""
        if until is not None and until >= matches.deadline:
            yield from self._pass_time(matches, until)
        if until is not None and matches.timer <= until:
            matches.timer = NEVER
            matches.is_changed = True
        if self._nfa.is_timed and matches.deadline < matches.timer and not matches.is_empty:
            wake(matches.deadline, key)
            matches.timer = matches.deadline
            matches.is_changed = True
        if matches.is_changed:
            matches.is_changed = False
            self.store.put(key, matches)

    def _pass_time(self, matches: KeyMatches, time: int) -> Iterator[Result]:
        found, timed_out = self._nfa.advance_time(matches, time)
        for match in found:
            yield Outcome.MATCH, match, time
        for match, ran_out_at in timed_out:
            yield Outcome.TIMED_OUT, match, ran_out_at
        if self._observer is not None:
            yield from self._near_misses()

    def _near_misses(self) -> Iterator[Result]:
        assert self._observer is not None
        for miss in self._observer.taken():
            yield Outcome.NEAR_MISS, miss, miss.timestamp
