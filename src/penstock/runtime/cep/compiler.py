"""From a pattern to its automaton.

States are made from the last step to the first, as each has to know where it leads. Which states there are, how they
are named and in which order their transitions are looked at is part of what a pattern means: it decides which of two
matches comes first.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from penstock.patterns import ALWAYS, Both, Condition, Contiguity, Negation, PatternDefinition, Step
from penstock.runtime.cep.states import Action, State, StateGraph, StateKind

_END = "$end"


def compile_pattern(definition: PatternDefinition) -> StateGraph:
    """The automaton that finds matches of a pattern."""
    return _Compiler(definition).compile()


class _Compiler:
    """Where the work is: a sequence of steps (the pattern's, or a group's), and a place in it."""

    def __init__(self, definition: PatternDefinition) -> None:
        self._within = definition.within
        self._sequence = definition.steps
        self._place = len(definition.steps) - 1
        self._group: Step | None = None
        self._following: Step | None = None
        self._states: list[State] = []
        self._names: set[str] = set()
        self._stops: dict[str, State] = {}
        self._is_first_of_loop: dict[int, bool] = {}
        """Of groups, by identity: whether the round that is made now is the first of a repeated group."""
        self._unchanged_copies: dict[str, State] = {}
        """Of states behind greedy loops: the state as it is when `until` has ended the loop."""

    def compile(self) -> StateGraph:
        """Makes all states."""
        start = self._convert(self._steps_before_first(self._new_state(_END, _END, StateKind.FINAL)))
        start.kind = StateKind.START
        return StateGraph(tuple(self._states), start, self._within)

    # --- sequences

    @property
    def _step(self) -> Step:
        return self._sequence[self._place]

    def _steps_before_first(self, sink: State) -> State:
        """The states of all steps but the first of the sequence, which becomes the current one."""
        while self._place > 0:
            match self._step.contiguity:
                case Contiguity.NOT_FOLLOWED:
                    sink = self._not_followed_at_end(sink)
                case Contiguity.NOT_NEXT:
                    sink = self._not_next(sink)
                case _:
                    sink = self._convert(sink)
            self._following = self._step
            self._place -= 1
        return sink

    def _not_followed_at_end(self, sink: State) -> State:
        """Before other steps, what must not come is a condition of their states; at the end it has a state."""
        step = self._step
        if sink.kind is not StateKind.FINAL or not (step.within_previous is not None or self._within):
            return sink
        state = self._state_of_step(StateKind.PENDING, is_take=True)
        unwanted = self._take_condition(step)
        state.add(Action.PROCEED, self._stop_state(unwanted, step.name), unwanted)
        state.add(Action.IGNORE, state, Negation(unwanted))
        return state

    def _not_next(self, sink: State) -> State:
        step = self._step
        state = self._state_of_step(StateKind.NORMAL, is_take=True)
        unwanted = self._take_condition(step)
        stop = self._stop_state(unwanted, step.name)
        # To the end only with an event that is looked at: none has come yet that could be the unwanted one.
        action = Action.IGNORE if sink.kind is StateKind.FINAL else Action.PROCEED
        state.add(action, sink, Negation(unwanted))
        state.add(Action.PROCEED, stop, unwanted)
        return state

    def _convert(self, sink: State) -> State:
        """The states of the current step; returns the first of them."""
        step = self._step
        if step.is_loop:
            self._mark_first_of_loop(False)
            loop = self._loop(self._without_earlier_negations(sink))
            self._mark_first_of_loop(True)
            first = self._repeated(loop, sink)
        elif step.is_repeated:
            first = self._repeated(sink, sink)
        else:
            first = self._single(
                sink, sink, self._take_condition(step), self._ignore_condition(step), is_optional=step.is_optional
            )
        self._add_stops(first)
        return first

    # --- states

    def _new_state(self, base: str, step: str, kind: StateKind) -> State:
        name, number = base, 0
        while name in self._names:
            name, number = f"{base}:{number}", number + 1
        self._names.add(name)
        state = State(name, step, kind)
        self._states.append(state)
        return state

    def _state_of_step(self, kind: StateKind, *, is_take: bool) -> State:
        step = self._step
        state = self._new_state(step.name, step.name, kind)
        if is_take and not step.is_repeated:
            state.timeout = step.within_previous or None
        elif is_take and state.name != step.name:
            state.timeout = step.gap or None
        return state

    def _stop_state(self, unwanted: Condition, name: str) -> State:
        """One for each step that says what must not come."""
        stop = self._stops.get(name)
        if stop is None:
            stop = self._stops[name] = self._new_state(name, name, StateKind.STOP)
            stop.add(Action.TAKE, stop, unwanted)
        return stop

    def _single(
        self, sink: State, proceed: State | None, take: Condition, ignore: Condition | None, *, is_optional: bool
    ) -> State:
        """A state that waits for one event (or one round of a group)."""
        step = self._step
        if step.is_group:
            return self._group_round(sink, proceed, is_optional)
        state = self._state_of_step(StateKind.NORMAL, is_take=True)
        taken = self._without_earlier_negations(sink)
        state.add(Action.TAKE, taken, take)
        if is_optional:
            assert proceed is not None
            self._add_way_around(state, proceed)
        if ignore is not None:
            waiting = state
            if is_optional or self._is_head_of_optional_group():
                # An event that was passed over decides that the step is not left out.
                waiting = self._state_of_step(StateKind.NORMAL, is_take=False)
                waiting.add(Action.TAKE, taken, take)
                waiting.add(Action.IGNORE, waiting, ignore)
                self._add_stops(waiting)
            state.add(Action.IGNORE, waiting, ignore)
        return state

    def _add_way_around(self, state: State, proceed: State) -> None:
        step, always = self._step, self._always()
        if step.is_greedy and step.until is not None:
            state.add(Action.PROCEED, self._unchanged_copies.get(proceed.name, proceed), Both(always, step.until))
            state.add(Action.PROCEED, proceed, Both(always, Negation(step.until)))
        else:
            state.add(Action.PROCEED, proceed, always)

    def _repeated(self, sink: State, proceed: State) -> State:
        """As many states as there may be events."""
        step = self._step
        self._mark_first_of_loop(False)
        inner_ignore = _before(self._inner_ignore_condition(step), step.until, is_take=False)
        take = _before(self._take_condition(step), step.until, is_take=True)
        assert take is not None
        if step.is_greedy and step.least != step.most:
            if step.until is not None:
                self._unchanged_copies[sink.name] = self._copied(sink)
            _leave_to_loop(sink, take)
        last = sink
        for _ in range(step.least, step.most):
            last = self._single(last, proceed, take, inner_ignore, is_optional=True)
            self._add_stop_of_following(last)
        for _ in range(step.least - 1):
            last = self._single(last, None, take, inner_ignore, is_optional=False)
            self._add_stop_of_following(last)
        self._mark_first_of_loop(True)
        return self._single(last, proceed, take, self._ignore_condition(step), is_optional=step.is_optional)

    def _loop(self, sink: State) -> State:
        """A state that takes events again and again."""
        step = self._step
        if step.is_group:
            return self._group_loop(sink)
        ignore = _before(self._inner_ignore_condition(step), step.until, is_take=False)
        take = _before(self._take_condition(step), step.until, is_take=True)
        assert take is not None
        always = self._always()
        loop = self._state_of_step(StateKind.NORMAL, is_take=True)
        if step.is_greedy:
            if step.until is not None:
                unchanged = self._copied(sink)
                loop.add(Action.PROCEED, unchanged, Both(always, step.until))
                self._unchanged_copies[sink.name] = unchanged
                always = Both(always, Negation(step.until))
            loop.add(Action.PROCEED, sink, always)
            _leave_to_loop(sink, self._take_condition(step))
        else:
            loop.add(Action.PROCEED, sink, always)
        loop.add(Action.TAKE, loop, take)
        self._add_stop_of_following(loop)
        if ignore is not None:
            waiting = self._state_of_step(StateKind.NORMAL, is_take=False)
            waiting.add(Action.TAKE, loop, take)
            waiting.add(Action.IGNORE, waiting, ignore)
            loop.add(Action.IGNORE, waiting, ignore)
            self._add_stop_of_following(waiting)
        return loop

    # --- groups

    def _group_round(self, sink: State, proceed: State | None, is_optional: bool) -> State:
        always = self._always()
        with self._inside(self._step):
            first = self._convert(self._steps_before_first(sink))
        if is_optional:
            assert proceed is not None
            first.add(Action.PROCEED, proceed, always)
        return first

    def _group_loop(self, sink: State) -> State:
        always = self._always()
        again = self._state_of_step(StateKind.NORMAL, is_take=True)
        with self._inside(self._step):
            first = self._convert(self._steps_before_first(again))
        first.add(Action.PROCEED, sink, always)
        again.add(Action.PROCEED, first, always)
        return first

    @contextmanager
    def _inside(self, group: Step) -> Generator[None]:
        outer = self._sequence, self._place, self._group, self._following
        self._sequence, self._place, self._group = group.members, len(group.members) - 1, group
        yield
        self._sequence, self._place, self._group, self._following = outer

    def _mark_first_of_loop(self, is_first: bool) -> None:
        if self._step.is_group:
            self._is_first_of_loop[id(self._step)] = is_first

    @property
    def _is_in_first_round(self) -> bool:
        return self._is_first_of_loop.get(id(self._group), True)

    @property
    def _is_head_of_group(self) -> bool:
        return self._group is not None and self._place == 0

    def _is_head_of_optional_group(self) -> bool:
        group = self._group
        return group is not None and self._place == 0 and self._is_in_first_round and group.is_optional

    # --- what must not come

    def _earlier_negations(self) -> list[tuple[Condition, str]]:
        """What must not come before the current step, because no other step had to come since."""
        found: list[tuple[Condition, str]] = []
        for step in reversed(self._sequence[: self._place]):
            if not step.is_optional and step.contiguity is not Contiguity.NOT_FOLLOWED:
                break
            if step.contiguity is Contiguity.NOT_FOLLOWED:
                found.append((self._take_condition(step), step.name))
        return found

    def _add_stops(self, state: State) -> None:
        for unwanted, name in self._earlier_negations():
            state.add(Action.PROCEED, self._stop_state(unwanted, name), unwanted)

    def _add_stop_of_following(self, state: State) -> None:
        following = self._following
        if following is not None and following.contiguity is Contiguity.NOT_FOLLOWED:
            unwanted = self._take_condition(following)
            state.add(Action.PROCEED, self._stop_state(unwanted, following.name), unwanted)

    def _without_earlier_negations(self, sink: State) -> State:
        """When an optional step has taken an event, what must not come before it may come."""
        negations = self._earlier_negations()
        if not negations or not self._step.is_optional:
            return sink
        copy = self._new_state(sink.name, sink.step, sink.kind)
        names = {name for _, name in negations}
        for way in list(sink.transitions):
            if way.action is not Action.PROCEED:
                copy.add(way.action, copy if way.target is sink else way.target, way.condition)
            elif way.target.kind is not StateKind.STOP:
                copy.add(way.action, self._without_earlier_negations(way.target), way.condition)
            elif way.target.name not in names:
                copy.add(way.action, way.target, way.condition)
        return copy

    def _copied(self, state: State) -> State:
        copy = self._new_state(state.step, state.step, state.kind)
        for way in state.transitions:
            copy.add(way.action, copy if way.target is state else way.target, way.condition)
        return copy

    # --- conditions

    def _take_condition(self, step: Step) -> Condition:
        condition = _before(step.condition, self._group_until, is_take=True)
        assert condition is not None
        return condition

    def _always(self) -> Condition:
        condition = _before(ALWAYS, self._group_until, is_take=True)
        assert condition is not None
        return condition

    def _inner_ignore_condition(self, step: Step) -> Condition | None:
        """Which events may be passed over between two of a repeated step."""
        contiguity = step.inner_contiguity
        if self._is_head_of_group and self._group is not None:
            contiguity = self._group.inner_contiguity
        return self._passed_over(step, contiguity)

    def _ignore_condition(self, step: Step) -> Condition | None:
        """Which events may be passed over before the step; the first step of a group follows as its group does."""
        contiguity = step.contiguity
        if self._is_head_of_group and self._group is not None:
            first_round = self._is_in_first_round
            contiguity = self._group.contiguity if first_round else self._group.inner_contiguity
        return self._passed_over(step, contiguity)

    def _passed_over(self, step: Step, contiguity: Contiguity) -> Condition | None:
        condition: Condition | None = None
        if contiguity is Contiguity.RELAXED:
            condition = Negation(step.condition)
        elif contiguity is Contiguity.ANY:
            condition = ALWAYS
        return _before(condition, self._group_until, is_take=False)

    @property
    def _group_until(self) -> Condition | None:
        return None if self._group is None else self._group.until


def _before(condition: Condition | None, until: Condition | None, *, is_take: bool) -> Condition | None:
    """The condition, while that which ends a loop has not come."""
    if until is None or (condition is None and not is_take):
        return condition
    return Negation(until) if condition is None else Both(Negation(until), condition)


def _leave_to_loop(state: State, taken_by_loop: Condition) -> None:
    """Makes a state leave events to the greedy loop before it."""
    for way in state.transitions:
        way.condition = Both(way.condition, Negation(taken_by_loop))
