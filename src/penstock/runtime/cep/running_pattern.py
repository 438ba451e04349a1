"""A pattern at work in a subtask: its automaton, and what all keys have of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from penstock.common.batch import Batch, RecordCodec
from penstock.common.typeinfo import TypeInformation
from penstock.patterns import PatternDefinition
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
Numbers = np.ndarray[Any, np.dtype[np.int64]]


class WaitingEvents(NamedTuple):
    """Events of a key in the order of time."""

    times: Sequence[int]
    masks: Sequence[int]
    source: Any
    """Gives the event at a place: `source[place]`."""
    first: int = 0
    """The place of the first."""


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

    def beginnings(self, masks: Masks, starts: Numbers) -> list[bool] | None:
        """Of groups of events, whether a match can begin in each; None: it can in any."""
        if self._nfa.start_mask is None:
            return None
        return (np.bitwise_or.reduceat(masks & self._nfa.start_mask, starts) != 0).tolist()

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
        nfa, store, (times, masks, source, first) = self._nfa, self.store, events
        matches = store.get(key)
        start_mask = nfa.start_mask
        is_empty = matches is None or matches.is_empty
        for place, (time, mask) in enumerate(zip(times, masks, strict=True), first):
            if is_empty and start_mask is not None and not mask & start_mask:
                continue
            if matches is None:
                matches = nfa.new_matches()
            elif time >= matches.deadline:
                yield from self._pass_time(matches, time)
            event = Event(None, time, mask, -1, source, place)
            current(event)
            found = nfa.process(matches, event)
            is_empty = len(matches.partials) == 1 and not matches.completed
            for match in found:
                yield Outcome.MATCH, match, time
            if self._observer is not None:
                yield from self._near_misses()
        if matches is None:
            return
        if until is not None and until >= matches.deadline:
            yield from self._pass_time(matches, until)
        if until is not None and matches.timer <= until:
            matches.timer = NEVER
            matches.is_changed = True
        if nfa.is_timed and matches.deadline < matches.timer and not matches.is_empty:
            wake(matches.deadline, key)
            matches.timer = matches.deadline
            matches.is_changed = True
        if matches.is_changed:
            matches.is_changed = False
            store.put(key, matches)

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
