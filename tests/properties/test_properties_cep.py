"""The automaton against a search of all matches, and the operator against itself with restarts and other batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cep import AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from penstock.common import Types
from penstock.patterns import CepSettings
from penstock.runtime.cep.cep_operator import CepOperator
from penstock.runtime.cep.condition_tests import ConditionTests
from penstock.runtime.cep.matches import Event
from penstock.runtime.cep.nfa import Nfa
from unit.runtime.operator_harness import ANY, Harness

LETTERS = "abc"
FOLLOWING = ("next", "followed_by", "followed_by_any")
FOREVER = 99

Events = list[tuple[str, int]]
"""Letters and times, which do not fall."""


@dataclass(frozen=True)
class StepCase:
    wanted: str
    following: str
    least: int
    most: int
    inner: str
    unwanted: tuple[str, str] | None
    """What must not come before: `not_next` or `not_followed_by`, and letters."""


@dataclass(frozen=True)
class Case:
    steps: tuple[StepCase, ...]
    within: int

    def pattern(self, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
        pattern: Pattern | None = None
        for number, step in enumerate(self.steps):
            if pattern is None:
                pattern = Pattern.begin("s0", skip)
            else:
                if step.unwanted is not None:
                    word, letters = step.unwanted
                    pattern = getattr(pattern, word)(f"n{number}").where(_one_of(letters))
                pattern = getattr(pattern, step.following)(f"s{number}")
            pattern.where(_one_of(step.wanted))
            if step.most == FOREVER:
                pattern.times_or_more(max(step.least, 1))
            elif (step.least, step.most) != (1, 1):
                pattern.times(step.least, step.most)
            if step.most > 1 and step.inner != "followed_by":
                pattern = pattern.consecutive() if step.inner == "next" else pattern.allow_combinations()
            if step.most == FOREVER and step.least == 0:
                pattern.optional()
        assert pattern is not None
        return pattern.within(self.within) if self.within else pattern


def _one_of(letters: str) -> Any:
    return lambda event: event[0] in letters


@st.composite
def cases(draw: st.DrawFn) -> Case:
    steps: list[StepCase] = []
    for number in range(draw(st.integers(1, 3))):
        before = steps[-1] if steps else None
        wanted = draw(st.sampled_from(["a", "b", "c", "ab", "bc", "abc"]))
        # An event that is wanted and must not come: the last step takes it, others do not, as in Flink.
        others = [letter for letter in LETTERS if letter not in wanted]
        unwanted = None
        if others and before is not None and (before.least, before.most) == (1, 1) and draw(st.booleans()):
            unwanted = draw(st.sampled_from(["not_next", "not_followed_by"])), draw(st.sampled_from(others))
        ranges = [(1, 1), (1, 1), (2, 2)]
        if unwanted is None:  # else what must not come must not come between the repeated events either, as in Flink
            ranges.append((1, 3))
        if unwanted is None and number > 0:
            ranges += [(0, 2), (1, FOREVER), (0, FOREVER)]
        least, most = draw(st.sampled_from(ranges))
        steps.append(
            StepCase(
                wanted,
                draw(st.sampled_from(FOLLOWING)),
                least,
                most,
                draw(st.sampled_from(FOLLOWING)),
                unwanted,
            )
        )
    return Case(tuple(steps), draw(st.sampled_from([0, 0, 3, 6])))


@st.composite
def event_lists(draw: st.DrawFn) -> Events:
    letters = draw(st.lists(st.sampled_from(LETTERS), max_size=8))
    time, events = 0, []
    for number, letter in enumerate(letters):
        time += draw(st.integers(0, 2))
        events.append((f"{letter}{number}", time))
    return events


def all_matches(case: Case, events: Events) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to give the steps events, by the definition of contiguity alone."""

    def places(step: StepCase, following: str, after: int) -> list[int]:
        fitting = [place for place in range(after + 1, len(events)) if events[place][0][0] in step.wanted]
        if following == "next":
            return [place for place in fitting if place == after + 1]
        return fitting[:1] if following == "followed_by" else fitting

    def is_allowed(step: StepCase, after: int, place: int) -> bool:
        if step.unwanted is None:
            return True
        word, letters = step.unwanted
        looked_at = events[after + 1 : place + 1] if word == "not_followed_by" else events[after + 1 : after + 2]
        return not any(event[0] in letters for event, _ in looked_at)

    def rounds(step: StepCase, taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(taken) >= max(step.least, 1):
            yield taken
        if len(taken) < step.most:
            for place in places(step, step.inner, taken[-1]):
                yield from rounds(step, (*taken, place))

    def search(number: int, after: int) -> Iterator[tuple[tuple[int, ...], ...]]:
        if number == len(case.steps):
            yield ()
            return
        step = case.steps[number]
        firsts = range(len(events)) if number == 0 else places(step, step.following, after)
        for first in firsts:
            if events[first][0][0] not in step.wanted or not is_allowed(step, after, first):
                continue
            for taken in rounds(step, (first,)):
                yield from ((taken, *rest) for rest in search(number + 1, taken[-1]))
        if step.least == 0:
            yield from (((), *rest) for rest in search(number + 1, after))

    for found in search(0, -1):
        used = [place for taken in found for place in taken]
        if not case.within or events[used[-1]][1] - events[used[0]][1] < case.within:
            yield found


def found_by_automaton(case: Case, events: Events) -> Iterator[tuple[tuple[str, ...], ...]]:
    nfa = Nfa(
        case.pattern().definition(),
        ConditionTests(None),
        limit=1_000_000,
        processing_time=lambda: 0,
        wants_timed_out=False,
    )
    matches = nfa.new_matches()
    for event, time in events:
        nfa.advance_time(matches, time)
        for match in nfa.process(matches, Event(event, time)):
            yield tuple(tuple(match.get(f"s{number}", ())) for number in range(len(case.steps)))


@settings(max_examples=400)
@given(cases(), event_lists())
def test_the_automaton_finds_all_matches_and_no_others(case: Case, events: Events) -> None:
    expected = Counter(
        tuple(tuple(events[place][0] for place in taken) for taken in found) for found in all_matches(case, events)
    )
    assert Counter(found_by_automaton(case, events)) == expected


class Shown(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        yield "match", ctx.timestamp(), match.in_order

    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        yield "timed out", ctx.timestamp(), match.in_order


SKIPS = (
    AfterMatchSkipStrategy.no_skip(),
    AfterMatchSkipStrategy.skip_to_next(),
    AfterMatchSkipStrategy.skip_past_last_event(),
    AfterMatchSkipStrategy.skip_to_last("s0"),
)


@settings(max_examples=150)
@given(cases(), event_lists(), st.sampled_from(SKIPS), st.data())
def test_restarts_late_watermarks_and_disorder_change_nothing(
    case: Case, events: Events, skip: AfterMatchSkipStrategy, data: st.DataObject
) -> None:
    definition = case.pattern(skip).definition()

    def make() -> CepOperator:
        return CepOperator(Shown(), definition, CepSettings(Types.PICKLED_BYTE_ARRAY(), limit=1_000_000), ANY)

    one_by_one, with_gaps = Harness(make, restarts=True), Harness(make)
    for event, time in events:
        for harness in (one_by_one, with_gaps):
            harness.process([event], key=_parity, timestamps=[time])
        one_by_one.watermark(time - 1)
        if data.draw(st.booleans()):
            with_gaps.watermark(time - 2)
        if data.draw(st.booleans()):
            with_gaps.end_epoch()
    one_by_one.watermark(1_000)
    with_gaps.watermark(1_000)
    at_once = Harness(make)
    # Events of one time keep their order; others may come in any.
    order = data.draw(st.permutations(range(len(events))))
    shuffled = sorted(order, key=lambda place: (order.index(_first_of_time(events, place)), place))
    at_once.process(
        [events[place][0] for place in shuffled], key=_parity, timestamps=[events[place][1] for place in shuffled]
    )
    at_once.watermark(1_000)
    found = _shown(at_once, events)
    assert _shown(one_by_one, events) == found
    assert _shown(with_gaps, events) == found


def _shown(harness: Harness, events: Events) -> list[Any]:
    """All results. A match that had to wait for others has the time at which time was looked at, as in Flink."""
    times = dict(events)
    shown = [
        (what, time if what == "timed out" or time == times[match[-1][1]] else "later", match)
        for what, time, match in harness.values()
    ]
    return sorted(shown, key=repr)


def _parity(event: str) -> int:
    return int(event[1:]) % 2


def _first_of_time(events: Events, place: int) -> int:
    return next(other for other, (_, time) in enumerate(events) if time == events[place][1])
