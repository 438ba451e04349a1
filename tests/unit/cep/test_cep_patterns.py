"""Patterns as they are written, what is refused, and how they are drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import pytest

from penstock.cep import AfterMatchSkipStrategy, Pattern, SimpleCondition, WithinType
from penstock.common import Duration
from penstock.common.errors import ArgumentError, MalformedPatternError, PlanError
from penstock.expressions import col


def anything(event: object) -> bool:
    return True


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Pattern.begin("a").not_followed_by("b").definition(), "has no time limit.*within"),
    (lambda: Pattern.begin("a").optional().not_followed_by("b"), "'a' before it is optional"),
    (lambda: Pattern.begin("a").optional().not_next("b"), "'a' before it is optional"),
    (lambda: Pattern.begin("a").optional().optional(), "optional already"),
    (lambda: Pattern.begin("a").not_next("b").optional(), "cannot be optional"),
    (lambda: Pattern.begin("a").one_or_more().greedy().next("b").optional(), "'a', which is greedy"),
    (lambda: Pattern.begin("a").until(anything), "is no loop"),
    (lambda: Pattern.begin("a").times(2).until(anything), "is no loop"),
    (lambda: Pattern.begin("a").one_or_more().until(anything).until(anything), "already"),
    (lambda: Pattern.begin("a").next("b").next("a").definition(), "two patterns have the name 'a'"),
    (lambda: Pattern.begin("a").next(Pattern.begin("b").next("a")).definition(), "two patterns have the name 'a'"),
    (lambda: Pattern.begin("a").times(-1), "`times` is -1"),
    (lambda: Pattern.begin("a").times(0), "0 to 0 times"),
    (lambda: Pattern.begin("a").times(3, 2), "3 to 2 times"),
    (lambda: Pattern.begin("a").times_or_more(0), r"one_or_more\(\).optional\(\)"),
    (lambda: Pattern.begin("a").times(2).one_or_more(), "said already how often"),
    (lambda: Pattern.begin("a").not_next("b").times(2), "takes no events"),
    (lambda: Pattern.begin("a").not_next("b").one_or_more(), "takes no events"),
    (lambda: Pattern.begin("a").greedy(), "comes once"),
    (lambda: Pattern.begin("a").not_next("b").greedy(), "takes no events"),
    (lambda: Pattern.begin("a").one_or_more().allow_combinations().greedy(), "more matches, not fewer"),
    (lambda: Pattern.begin(Pattern.begin("a")).one_or_more().greedy(), "a group of patterns cannot be greedy"),
    (lambda: Pattern.begin("a").consecutive(), "comes once"),
    (lambda: Pattern.begin("a").allow_combinations(), "comes once"),
    (lambda: Pattern.begin("a").times(2).consecutive().allow_combinations(), "but not both"),
    (lambda: Pattern.begin("a").times(2).allow_combinations().consecutive(), "but not both"),
    (lambda: Pattern.begin("a").times(2).consecutive().consecutive(), "said already"),
    (lambda: Pattern.begin(Pattern.begin("a")).where(anything), "no condition of its own"),
    (lambda: Pattern.begin(Pattern.begin("a")).or_(anything), "no condition of its own"),
    (lambda: Pattern.begin(Pattern.begin("a")).subtype(int), "no condition of its own"),
    (lambda: Pattern.begin(Pattern.begin("a").optional()).one_or_more().definition(), "repeated without an event"),
    (lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("c")).next("b").definition(), "not there"),
    (
        lambda: Pattern.begin("a").next("b").within(9, WithinType.PREVIOUS_AND_CURRENT).within(5).definition(),
        "9 ms after .* 5 ms",
    ),
]


@pytest.mark.parametrize(("build", "expected"), REFUSED, ids=[expected[:30] for _, expected in REFUSED])
def test_what_cannot_be_is_refused_with_the_line(build: Callable[[], object], expected: str) -> None:
    with pytest.raises(MalformedPatternError, match=rf"(?s){expected}.*\n  at .*test_cep_patterns"):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: Pattern.begin(""),
        lambda: Pattern.begin("a", "no_skip"),
        lambda: Pattern.begin("a").next(3),
        lambda: Pattern.begin("a").where(3),
        lambda: Pattern.begin("a").where(SimpleCondition),
        lambda: Pattern.begin("a").where(lambda: True),
        lambda: Pattern.begin("a").where(lambda one, two, three: True),
        lambda: Pattern.begin("a").subtype("int"),
        lambda: Pattern.begin("a").times("2"),
        lambda: Pattern.begin("a").within(object()),
        lambda: Pattern.begin("a").within(5, "first"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_with_the_line(build: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError, match=r"\n  at .*test_cep_patterns"):
        build()


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(PlanError, match="not negative"):
        Pattern.begin("a").within(-1)
    with pytest.raises(PlanError, match="not negative"):
        Pattern.begin("a").one_or_more(Duration.of_millis(-1))


def test_a_pattern_says_what_it_was_told() -> None:
    skip = AfterMatchSkipStrategy.skip_to_next()
    pattern = Pattern.begin("a", skip).times(0, 3, "2 s").next("b").within("1 min").followed_by_any("c").within("5 s")
    first, second, third = pattern.definition().steps
    assert (first.is_optional, first.least, first.most, first.gap) == (True, 1, 3, 2_000)
    assert (second.contiguity.value, second.within, third.contiguity.value) == ("next", 60_000, "followed_by_any")
    assert pattern.definition().within == 5_000
    assert (pattern.get_name(), pattern.get_previous().get_name()) == ("c", "b")
    assert pattern.get_after_match_skip_strategy() == skip
    assert repr(pattern) == "<Pattern a b c>"


def test_the_drawing_in_words() -> None:
    pattern = (
        Pattern.begin("low").where(col("price") < 10)
        .not_followed_by("cancel").where(col("kind") == "cancel")
        .followed_by("high").where(col("price") > 20)
        .within("10 s")
    )  # fmt: skip
    assert pattern.explain() == (
        "after a match: no_skip()\n"
        "within 10000 ms\n"
        "start state 'low'\n"
        "  take    -> 'high'  if col(\"price\") < 10\n"
        "normal state 'high'\n"
        '  take    -> the end  if col("price") > 20\n'
        "  ignore  -> 'high'  if not col(\"price\") > 20\n"
        '  proceed -> stop at \'cancel\'  if col("kind") == "cancel"\n'
        "final state '$end'\n"
        "stop state 'cancel'\n"
    )


def test_the_drawing_has_every_state_and_every_way() -> None:
    pattern = Pattern.begin("<a>").where(lambda e: e).one_or_more().next("b").within(5)
    drawing = ElementTree.fromstring(pattern.explain("svg"))
    texts = [text.text or "" for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    ways = pattern.explain().count("->")
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) == ways + 3  # and the heads of three arrows
    assert {"<a>:1 (start)", "<a> (normal)", "b (normal)", "the end", "take -> the end if true"} <= set(texts)
