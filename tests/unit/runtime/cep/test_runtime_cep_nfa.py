"""The automaton finds what Flink's finds, in the same order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.common.errors import PartialMatchLimitError, PenstockError
from penstock.runtime.cep.condition_tests import ConditionTests
from penstock.runtime.cep.matches import Cell, Event, KeyMatches, values_of_step
from penstock.runtime.cep.nfa import Nfa
from unit.runtime.cep.cep_cases import found_in, pattern_of

_HERE = Path(__file__).parent
RECORDED = json.loads((_HERE / "flink_cases.json").read_text())


@pytest.mark.parametrize("recorded", RECORDED, ids=[f"{number}" for number in range(len(RECORDED))])
def test_finds_what_flink_finds(recorded: dict[str, str]) -> None:
    assert found_in(recorded["case"]) == recorded["found"], recorded["case"]


def automaton(pattern: Pattern, limit: int = 100) -> Nfa:
    return Nfa(
        pattern.definition(), ConditionTests(None), limit=limit, processing_time=lambda: 0, wants_timed_out=False
    )


def feed(nfa: Nfa, events: Iterable[str]) -> KeyMatches:
    matches = nfa.new_matches()
    for time, event in enumerate(events):
        nfa.process(matches, Event(event, time))
    return matches


def test_matches_that_have_begun_alike_share_their_events() -> None:
    nfa = automaton(pattern_of("begin:a where:a one_or_more followed_by:b where:b"), limit=1000)
    matches = feed(nfa, [f"a{number}" for number in range(20)])
    cells = set()
    for partial in matches.partials:
        cell = partial.cell
        while cell is not None:
            cells.add(id(cell))
            cell = cell.previous
    # Of every match that has begun, one cell for each event; not one for each match and event and length.
    assert len(cells) == 20 * 21 // 2


def test_a_condition_sees_the_events_of_a_step_from_all_rounds_of_a_loop() -> None:
    cell: Cell | None = None
    for step, event in (("a", "a0"), ("b", "b1"), ("b", "b2"), ("a", "a3"), ("b", "b4"), ("c", "c5")):
        cell = Cell(step, Event(event, 0), cell)
    assert [values_of_step(cell, step) for step in "abcd"] == [["a0", "a3"], ["b1", "b2", "b4"], ["c5"], []]
    assert values_of_step(None, "a") == []


def test_too_many_partial_matches_are_an_error_that_says_what_to_do() -> None:
    nfa = automaton(pattern_of("begin:a one_or_more allow_combinations followed_by:b where:b"), limit=50)
    with pytest.raises(PartialMatchLimitError, match=r"50 are allowed.*within.*cep.max-partial-matches"):
        feed(nfa, [f"a{number}" for number in range(20)])


@pytest.mark.parametrize(
    ("skip", "events", "expected"),
    [
        (AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss(), "ac", "has no event of that pattern"),
        (AfterMatchSkipStrategy.skip_to_last("a").throw_exception_on_miss(), "abc", "begins with the event to skip to"),
    ],
)
def test_a_strict_skip_strategy_fails_where_there_is_nothing_to_skip_to(skip, events: str, expected: str) -> None:
    pattern = Pattern.begin("a", skip).where(lambda event: event == "a")
    pattern = pattern.next("b").where(lambda event: event == "b").optional().next("c").where(lambda event: event == "c")
    with pytest.raises(PenstockError, match=expected):
        feed(automaton(pattern), events)
