"""Cases of pattern matching as text, and what the automaton finds in them. Flink's answers are in flink_cases.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.cep import AfterMatchSkipStrategy, Pattern, WithinType
from penstock.patterns import MatchedEvents
from penstock.runtime.cep.condition_tests import ConditionTests
from penstock.runtime.cep.matches import Event
from penstock.runtime.cep.nfa import Nfa

_NO_ARGUMENT = ("optional", "greedy", "consecutive", "allow_combinations", "one_or_more")


def letters(wanted: str):
    return lambda event: event[0] in wanted


def above(name: str):
    return lambda event, ctx: all(int(event[1:]) > int(other[1:]) for other in ctx.get_events_for_pattern(name))


def skip_of(text: str) -> AfterMatchSkipStrategy:
    kind, _, name = text.partition(":")
    match kind:
        case "next":
            return AfterMatchSkipStrategy.skip_to_next()
        case "past":
            return AfterMatchSkipStrategy.skip_past_last_event()
        case "first":
            return AfterMatchSkipStrategy.skip_to_first(name)
        case "last":
            return AfterMatchSkipStrategy.skip_to_last(name)
        case _:
            return AfterMatchSkipStrategy.no_skip()


Letters = Callable[[str], Any]
"""Makes a condition: the event begins with one of these letters."""


def pattern_of(text: str, skip: str = "no", of_letters: Letters = letters) -> Pattern:
    """The pattern that tokens stand for: `begin:a where:a followed_by:b ...`."""
    return _pattern(iter(text.split()), skip_of(skip), of_letters)


def _pattern(tokens: Iterator[str], skip: AfterMatchSkipStrategy, of_letters: Letters) -> Pattern:
    pattern: Pattern | None = None
    for token in tokens:
        word, *arguments = token.split(":")
        if word == ")":
            break
        if word == "begin":
            pattern = Pattern.begin(arguments[0], skip)
        elif word == "begin(":
            pattern = Pattern.begin(_pattern(tokens, AfterMatchSkipStrategy.no_skip(), of_letters), skip)
        else:
            assert pattern is not None
            pattern = _continued(pattern, word, arguments, tokens, skip, of_letters)
    assert pattern is not None
    return pattern


def _continued(
    pattern: Pattern, word: str, arguments: list[str], tokens: Iterator[str], skip, of_letters: Letters
) -> Pattern:
    match word:
        case "where":
            return pattern.where(of_letters(arguments[0]))
        case "or":
            return pattern.or_(of_letters(arguments[0]))
        case "above":
            return pattern.where(above(arguments[0]))
        case "until":
            return pattern.until(of_letters(arguments[0]))
        case "range":
            return pattern.times(int(arguments[0]), int(arguments[1]))
        case "times":
            return pattern.times(int(arguments[0]))
        case "times_in":
            return pattern.times(int(arguments[0]), None, int(arguments[1]))
        case "one_or_more_in":
            return pattern.one_or_more(int(arguments[0]))
        case "times_or_more":
            return pattern.times_or_more(int(arguments[0]))
        case "within":
            return pattern.within(int(arguments[0]))
        case "within_previous":
            return pattern.within(int(arguments[0]), WithinType.PREVIOUS_AND_CURRENT)
        case _ if word in _NO_ARGUMENT:
            return getattr(pattern, word)()
        case _ if word.endswith("("):
            return getattr(pattern, word[:-1])(_pattern(tokens, skip, of_letters))
        case _:
            return getattr(pattern, word)(arguments[0])


def shown(match: MatchedEvents) -> str:
    return ";".join(f"{name}={','.join(events)}" for name, events in match.items())


def found_in(case: str) -> str:
    """What the automaton finds: `tokens | skip | events | last time`."""
    tokens, skip, events, last = (part.strip() for part in case.split("|"))
    nfa = Nfa(
        pattern_of(tokens, skip).definition(),
        ConditionTests(None),
        limit=100_000,
        processing_time=lambda: 0,
        wants_timed_out=True,
    )
    matches = nfa.new_matches()
    out: list[str] = []

    def advance(time: int) -> None:
        found, timed_out = nfa.advance_time(matches, time)
        out.extend(f"{time}!{shown(match)}" for match in found)
        out.extend(f"{ran_out_at}?{shown(match)}" for match, ran_out_at in timed_out)

    for event in events.split():
        value, _, time = event.partition("@")
        advance(int(time))
        out += [f"{time}!{shown(match)}" for match in nfa.process(matches, Event(value, int(time)))]
    advance(int(last))
    return " ".join(out)
