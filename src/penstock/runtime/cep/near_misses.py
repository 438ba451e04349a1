"""Says of partial matches that came to nothing how far they came and what stopped them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.patterns import AfterMatchSkipStrategy, NearMiss
from penstock.runtime.cep.matches import Event, PartialMatch, events_of
from penstock.runtime.cep.states import Action, State, StateGraph, StateKind, Transition

if TYPE_CHECKING:
    from penstock.patterns import ConditionContext
    from penstock.runtime.cep.condition_tests import ConditionTests


class NearMissObserver:
    """Collects near misses until they are taken."""

    def __init__(self, tests: ConditionTests) -> None:
        self._tests = tests
        self._states: dict[str, State] = {}
        self._misses: list[NearMiss] = []

    def take_note_of(self, graph: StateGraph) -> None:
        """Is told of the automaton."""
        self._states = {state.name: state for state in graph.states}

    def taken(self) -> list[NearMiss]:
        """The near misses since the last call."""
        misses, self._misses = self._misses, []
        return misses

    def died_of_event(self, partial: PartialMatch, event: Event, context: ConditionContext) -> None:
        """An event came that the partial match could not go on with."""
        state = self._states[partial.node.name]
        for way in _reachable(state):
            if way.target.kind is StateKind.STOP and way.action is Action.PROCEED and self._is_met(way, event, context):
                reason = f"'{way.target.step}' came, which must not: {way.condition.text}"
                break
        else:
            wanted = dict.fromkeys(f"'{way.source.step}' ({way.condition.text})" for way in _takes(state))
            reason = f"the event had to be {' or '.join(wanted)}, and is not" if wanted else "no event could follow"
        self._add(partial, reason, event.value, event.timestamp)

    def ran_out_of_time(self, partial: PartialMatch, time: int) -> None:
        """Nothing came in time."""
        self._add(partial, f"time ran out at {time}", None, time)

    def was_skipped(self, partial: PartialMatch, strategy: AfterMatchSkipStrategy, time: int) -> None:
        """A match was found, and the strategy gave the partial match up."""
        self._add(partial, f"given up after a match: {strategy!r}", None, time)

    def _is_met(self, way: Transition, event: Event, context: ConditionContext) -> bool:
        bit, call = self._tests.prepared(way.condition)
        return bool(event.mask & bit) if bit else call is None or bool(call(event, context))

    def _add(self, partial: PartialMatch, reason: str, event: object, time: int) -> None:
        steps = dict.fromkeys(way.source.step for way in _takes(self._states[partial.node.name]))
        self._misses.append(NearMiss(events_of(partial.cell), tuple(steps), reason, event, time))


def _takes(state: State) -> list[Transition]:
    return [way for way in _reachable(state) if way.action is Action.TAKE]


def _reachable(state: State) -> list[Transition]:
    """The transitions out of a state and out of those that it lets events through to."""
    found: list[Transition] = []
    seen: set[State] = {state}
    waiting = [state]
    while waiting:
        for way in waiting.pop().transitions:
            if way.action is Action.PROCEED and way.target not in seen and way.target.kind is not StateKind.STOP:
                seen.add(way.target)
                waiting.append(way.target)
            found.append(way)
    return found
