"""The automaton at work: one event, or the passing of time, for the partial matches of one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any

from penstock.common.errors import PartialMatchLimitError, PenstockError
from penstock.patterns import (
    AfterMatchSkipStrategy,
    ConditionContext,
    MatchedEvents,
    PatternDefinition,
    SkipPastLastEvent,
    SkipToStep,
)
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.condition_tests import ConditionTests, Test
from penstock.runtime.cep.matches import (
    NEVER,
    NO_ORDER,
    Cell,
    Event,
    KeyMatches,
    PartialMatch,
    cells_of,
    events_of,
    values_of_step,
)
from penstock.runtime.cep.near_misses import NearMissObserver
from penstock.runtime.cep.start_order import offer, poll, remove_before
from penstock.runtime.cep.states import Action, State, StateKind

Found = MatchedEvents
TimedOut = tuple[Found, int]
"""A partial match, and when its time ran out."""


class Fate(IntEnum):
    """What becomes of the matches that an event begins, when the next event comes."""

    OVER = 0
    """None is left, and none was complete."""
    OPEN = 1
    JOINED = 2
    """And the next event is part of one, or begins another."""


class Way:
    """A transition, made ready."""

    __slots__ = ("bit", "call", "is_proceed", "is_take", "step", "target")

    def __init__(self, action: Action, target: Node, step: str, bit: int, call: Test | None) -> None:
        self.is_take = action is Action.TAKE
        self.is_proceed = action is Action.PROCEED
        self.target = target
        self.step = step
        self.bit = bit
        self.call = call


class Node:
    """A state, made ready."""

    __slots__ = ("has_proceed", "is_final", "is_pending", "is_start", "is_stop", "may_end", "name", "timeout", "ways")

    def __init__(self, state: State) -> None:
        self.name = state.name
        self.timeout = state.timeout
        self.is_start = state.kind is StateKind.START
        self.is_final = state.kind is StateKind.FINAL
        self.is_stop = state.kind is StateKind.STOP
        self.is_pending = state.kind is StateKind.PENDING
        self.has_proceed = any(way.action is Action.PROCEED for way in state.transitions)
        self.may_end = False
        """Whether the end can be reached from here without another event."""
        self.ways: tuple[Way, ...] = ()


class MatchView(ConditionContext):
    """What conditions are told of a partial match; one object, set anew for each."""

    cell: Cell | None
    time: int

    def __init__(self, processing_time: Callable[[], int]) -> None:
        self._processing_time = processing_time
        self._values: dict[str, list[Any]] = {}

    def look_at(self, cell: Cell | None, time: int) -> None:
        """Tells of another partial match, or of the same for another event, from now on."""
        self.cell = cell
        self.time = time
        if self._values:
            self._values = {}

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        """The events of a step so far."""
        values = self._values.get(name)
        if values is None:
            values = self._values[name] = values_of_step(self.cell, name)
        return values

    def timestamp(self) -> int:
        """The time of the event."""
        return self.time

    def current_processing_time(self) -> int:
        """The processing time."""
        return self._processing_time()


class Nfa:
    """The automaton of a pattern. It has no state of its own."""

    def __init__(
        self,
        definition: PatternDefinition,
        tests: ConditionTests,
        *,
        limit: int,
        processing_time: Callable[[], int],
        wants_timed_out: bool,
        observer: NearMissObserver | None = None,
    ) -> None:
        graph = compile_pattern(definition)
        self.within = graph.within
        self._nodes = {state.name: Node(state) for state in graph.states}
        self._start = self._nodes[graph.start.name]
        for state in graph.states:
            self._nodes[state.name].ways = tuple(self._ways(state, tests))
        for state in graph.states:
            self._nodes[state.name].may_end = _may_end(state)
        self._skip: AfterMatchSkipStrategy = definition.skip
        self._skips = definition.skip.is_skip_strategy
        self._limit = limit
        self._view = MatchView(processing_time)
        self._wants_timed_out = wants_timed_out
        self._observer = observer
        if observer is not None:
            observer.take_note_of(graph)
        self._idle = PartialMatch(self._start, None, NO_ORDER, -1, -1)
        self.start_mask = self._start_mask()
        """Of a key without partial matches, only events with one of these bits matter; None: any may."""
        self.needs_values = any(way.call is not None for node in self._nodes.values() for way in node.ways)
        """Whether conditions ask for events themselves, and not for their masks alone."""
        self.is_timed = bool(graph.within) or any(state.timeout for state in graph.states)
        self.idle_mask = self._idle_mask(tests)
        """Events with exactly this mask change nothing, whatever there is; None: there are no such events."""
        self.goes_by_masks = not self.needs_values and observer is None
        """Whether all that happens follows from the masks and times of events."""
        self.shortest_limit = self._shortest_limit()
        """Not before so many ms a partial match that runs out of time is told of, or complete; 0: never."""

    def new_matches(self) -> KeyMatches:
        """What a key has before its first event."""
        return KeyMatches([self._idle])

    def node(self, name: str) -> Node | None:
        """The state of a saved partial match; None where the pattern has no such state any more."""
        return self._nodes.get(name)

    # --- events

    def process(self, matches: KeyMatches, event: Event) -> list[Found]:
        """Takes an event in, and returns the matches that it completes."""
        kept: list[PartialMatch] = []
        complete: list[PartialMatch] = []
        before = matches.partials
        for partial in before:
            become = self._following(matches, partial, event)
            if len(become) == 1 and become[0] is partial:  # as most do with most events
                offer(kept, partial)
                continue
            retained: list[PartialMatch] = []
            is_stopped = False
            ended = len(complete)
            for following in become:
                node = following.node
                if node.is_final:
                    offer(complete, following)
                elif node.is_stop:
                    is_stopped = True
                else:
                    retained.append(following)
            if not is_stopped:
                for following in retained:
                    offer(kept, following)
            is_over = (is_stopped or not retained) and ended == len(complete)
            if self._observer is not None and is_over:
                self._observer.died_of_event(partial, event, self._view)
        if len(kept) > self._limit:
            raise self._too_many(len(kept))
        matches.is_changed |= kept != before or bool(complete)
        waiting = complete or matches.completed
        found = self._completed(matches, complete, kept, event.timestamp) if waiting else []
        matches.partials = kept
        return found

    def _following(self, matches: KeyMatches, partial: PartialMatch, event: Event) -> list[PartialMatch]:
        """What a partial match becomes with an event. None: it is over. Several: they go their ways from here."""
        node, mask, view = partial.node, event.mask, self._view
        view.look_at(partial.cell, event.timestamp)
        following: list[PartialMatch] = []
        for way in node.ways if not node.has_proceed else self._ways_behind(node, event):
            if way.bit:
                if not mask & way.bit:
                    continue
            elif way.call is not None and not way.call(event, view):
                continue
            target = way.target
            if not way.is_take:
                if target is node and not node.is_start:
                    following.append(partial)
                elif not node.is_start:
                    following.append(
                        PartialMatch(target, partial.cell, partial.order, partial.start_time, partial.previous_time)
                    )
                    if target.timeout:
                        matches.deadline = min(matches.deadline, partial.previous_time + target.timeout)
                continue
            following += self._taken(matches, partial, event, way)
        if node.is_start:
            following.append(partial)
        return following

    def _taken(self, matches: KeyMatches, partial: PartialMatch, event: Event, way: Way) -> Iterable[PartialMatch]:
        if event.number < 0:
            event.number = matches.next_event
            matches.next_event += 1
        time, target = event.timestamp, way.target
        cell = Cell(way.step, event, partial.cell)
        if partial.node.is_start:
            order, start = event.number, time
        else:
            order, start = partial.order, partial.start_time
        taken = PartialMatch(target, cell, order, start, time)
        if self.is_timed:
            if self.within and start + self.within < matches.deadline:
                matches.deadline = start + self.within
            if target.timeout and time + target.timeout < matches.deadline:
                matches.deadline = time + target.timeout
        if target.may_end and (end := self._end_behind(target, event)) is not None:
            return taken, PartialMatch(end, cell, order, start, time)
        return (taken,)

    def _ways_behind(self, node: Node, event: Event) -> list[Way]:
        """The ways that take or ignore the event, from a state and those that it lets the event through to."""
        mask, view = event.mask, self._view
        found: list[Way] = []
        waiting = [node]
        while waiting:
            for way in waiting.pop().ways:
                if not way.is_proceed:
                    found.append(way)
                elif mask & way.bit if way.bit else way.call is None or way.call(event, view):
                    waiting.append(way.target)
        return found

    def _end_behind(self, node: Node, event: Event) -> Node | None:
        """The end, if nothing more has to come."""
        mask, view = event.mask, self._view
        waiting = [node]
        while waiting:
            for way in waiting.pop().ways:
                if way.is_proceed and (mask & way.bit if way.bit else way.call is None or way.call(event, view)):
                    if way.target.is_final:
                        return way.target
                    waiting.append(way.target)
        return None

    def fate(self, first: int, second: int) -> Fate:
        """What becomes of the matches that an event with one mask begins, when the next one has the other mask."""
        matches = self.new_matches()
        event, next_event = Event(None, 0, first), Event(None, 0, second)
        try:
            is_open = bool(self.process(matches, event))
            if event.number < 0:
                return Fate.OVER  # it begins nothing
            is_open |= bool(self.process(matches, next_event)) or bool(matches.completed)
        except PenstockError:
            return Fate.OPEN  # the same will happen where the events are looked at
        begun = [partial for partial in matches.partials if partial.order == event.number]
        if not is_open and not begun:
            return Fate.OVER
        return Fate.OPEN if next_event.number < 0 else Fate.JOINED

    # --- time

    def advance_time(self, matches: KeyMatches, time: int) -> tuple[list[Found], list[TimedOut]]:
        """Ends what has run out of time: returns matches that are complete by that, and those that are not."""
        if time < matches.deadline:
            return [], []
        kept: list[PartialMatch] = []
        complete: list[PartialMatch] = []
        timed_out: list[TimedOut] = []
        matches.deadline = NEVER
        for partial in matches.partials:
            end = self._deadline(partial)
            if time < end:
                offer(kept, partial)
                matches.deadline = min(matches.deadline, end)
                continue
            matches.is_changed = True
            if partial.node.is_pending:
                offer(complete, partial)
                continue
            ran_out_at = self._ran_out_at(partial, time)
            if self._wants_timed_out:
                timed_out.append((events_of(partial.cell), ran_out_at))
            if self._observer is not None:
                self._observer.ran_out_of_time(partial, ran_out_at)
        found: list[Found] = []
        if complete or matches.completed:
            found = self._completed(matches, complete, kept, time)
        matches.partials = kept
        return found, timed_out

    def _deadline(self, partial: PartialMatch) -> int:
        if partial.node.is_start:
            return NEVER
        end = partial.start_time + self.within if self.within else NEVER
        return min(end, partial.previous_time + partial.node.timeout) if partial.node.timeout else end

    def _ran_out_at(self, partial: PartialMatch, time: int) -> int:
        timeout = partial.node.timeout
        if timeout and time >= partial.previous_time + timeout:
            return partial.previous_time + timeout
        return partial.start_time + self.within

    def renew_deadline(self, matches: KeyMatches) -> None:
        """Finds out when the first partial match runs out of time."""
        matches.deadline = min(map(self._deadline, matches.partials), default=NEVER)

    # --- matches

    def _completed(
        self, matches: KeyMatches, complete: list[PartialMatch], kept: list[PartialMatch], time: int
    ) -> list[Found]:
        """The matches that may go out now; prunes what the skip strategy gives up for them."""
        queue = matches.completed
        for each in complete:
            offer(queue, each)
        found: list[Found] = []
        while queue:
            first = queue[0]
            # A match that began later may be given up for one that began earlier and is not complete yet.
            if self._skips and kept and first.order > kept[0].order:
                break
            poll(queue)
            matches.is_changed = True
            if self._skips:
                self._prune(first, (kept, queue), time)
            found.append(events_of(first.cell))
        return found

    def _prune(self, match: PartialMatch, queues: Iterable[list[PartialMatch]], time: int) -> None:
        limit = self._first_kept(match)
        if limit is None:
            return
        for queue in queues:
            removed = remove_before(queue, limit)
            if self._observer is not None:
                for each in removed:
                    self._observer.was_skipped(each, self._skip, time)

    def _first_kept(self, match: PartialMatch) -> int | None:
        """What began before this event is given up; None: nothing is."""
        assert match.cell is not None
        strategy = self._skip
        if isinstance(strategy, SkipPastLastEvent):
            return match.cell.event.number + 1
        if not isinstance(strategy, SkipToStep):
            return match.order + 1
        numbers = [cell.event.number for cell in cells_of(match.cell) if cell.step == strategy.name]
        number = (numbers[0] if strategy.is_first else numbers[-1]) if numbers else None
        if strategy.is_strict and number is None:
            raise PenstockError(f"{strategy}: the match {events_of(match.cell)!r} has no event of that pattern")
        if strategy.is_strict and number == match.order:
            raise PenstockError(
                f"{strategy}: the match {events_of(match.cell)!r} begins with the event to skip to; it would be found "
                "again and again"
            )
        return number

    def _too_many(self, count: int) -> PartialMatchLimitError:
        return PartialMatchLimitError(
            f"a key has {count} partial matches of the pattern, and {self._limit} are allowed. Every event may take "
            "part in all of them: give the pattern a time limit (`within`) or an end of its loops (`until`), take "
            "`allow_combinations()` or `followed_by_any` out, or skip after matches (AfterMatchSkipStrategy). "
            "`cep.max-partial-matches` allows more"
        )

    # --- making ready

    def _ways(self, state: State, tests: ConditionTests) -> Iterable[Way]:
        for way in state.transitions:
            bit, call = tests.prepared(way.condition)
            yield Way(way.action, self._nodes[way.target.name], way.source.step, bit, call)

    def _idle_mask(self, tests: ConditionTests) -> int | None:
        if self.needs_values or not tests.has_bits:
            return None
        # When time is looked at decides when these are complete.
        if any(node.is_pending for node in self._nodes.values()) or (self._skips and self.is_timed):
            return None
        event = Event(None, 0, tests.mask_of_nothing())
        matches = KeyMatches([])
        for node in self._nodes.values():
            if node.is_final or node.is_stop:
                continue
            partial = PartialMatch(node, None, 0, 0, 0)
            if self._following(matches, partial, event) != [partial]:
                return None
        return event.mask

    def _shortest_limit(self) -> int:
        if not self._wants_timed_out and not any(node.is_pending for node in self._nodes.values()):
            return 0
        limits = [self.within, *(node.timeout for node in self._nodes.values())]
        return min((limit for limit in limits if limit), default=0)

    def _start_mask(self) -> int | None:
        if self._start.has_proceed or any(way.is_take and not way.bit for way in self._start.ways):
            return None
        mask = 0
        for way in self._start.ways:
            if way.is_take:
                mask |= way.bit
        return mask


def _may_end(state: State) -> bool:
    seen: set[State] = set()
    waiting = [state]
    while waiting:
        for way in waiting.pop().transitions:
            if way.action is Action.PROCEED and way.target not in seen:
                if way.target.kind is StateKind.FINAL:
                    return True
                seen.add(way.target)
                waiting.append(way.target)
    return False
