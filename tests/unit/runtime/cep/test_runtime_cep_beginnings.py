"""Where matches may begin, told for many events at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from penstock.cep import Pattern, PatternProcessFunction
from penstock.common import Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.expressions import col
from penstock.patterns import CepSettings
from penstock.runtime.cep.beginnings import Beginnings
from penstock.runtime.cep.cep_operator import CepOperator
from penstock.runtime.cep.condition_tests import ConditionTests
from penstock.runtime.cep.nfa import Nfa
from penstock.state.key_encoding import encode_key
from unit.runtime.operator_harness import ANY, Harness

EVENT = Types.TUPLE([Types.STRING()])
CODEC = codec_for(EVENT)


def letter(wanted: str) -> Any:
    return col("f0") == wanted


def begins(pattern: Pattern, *keys: str, step: int = 1, wants_timed_out: bool = False) -> str | None:
    """The events of some keys, a letter each; a dot where no match has to be looked for."""
    tests = ConditionTests(EVENT)
    nfa = Nfa(pattern.definition(), tests, limit=100, processing_time=lambda: 0, wants_timed_out=wants_timed_out)
    events = "".join(keys)
    masks = tests.masks(CODEC.to_columns([(event,) for event in events]), len(events))
    starts = np.cumsum([0, *map(len, keys)])[:-1]
    found = Beginnings(nfa, tests.bits).find(masks, np.arange(len(events)) * step, starts)
    if found is None:
        return None
    return "".join(event if place in found.begin else "." for place, event in enumerate(events))


AB = Pattern.begin("a").where(letter("a")).next("b").where(letter("b"))


def test_what_is_over_with_the_next_event_is_not_looked_at() -> None:
    assert begins(AB, "xaxabxaab") == "...a..." + "a."


def test_the_last_event_of_a_key_waits_for_the_next_one() -> None:
    assert begins(AB, "xa", "ba", "x", "ax") == ".a.a..."


def test_a_relaxed_step_is_looked_at_unless_what_must_not_come_comes() -> None:
    pattern = Pattern.begin("a").where(letter("a")).not_followed_by("c").where(letter("c"))
    assert begins(pattern.followed_by("b").where(letter("b")), "axacab") == "a...a."


@pytest.mark.parametrize(("wants_timed_out", "step", "expected"), [(False, 5, ".."), (True, 5, "a."), (True, 4, "..")])
def test_what_runs_out_of_time_is_looked_at_where_it_is_told_of(
    wants_timed_out: bool, step: int, expected: str
) -> None:
    pattern = Pattern.begin("a").where(letter("a")).next("b").where(letter("b")).within(5)
    assert begins(pattern, "ax", step=step, wants_timed_out=wants_timed_out) == expected


def test_conditions_that_are_functions_are_not_foreseen() -> None:
    pattern = Pattern.begin("a").where(letter("a")).next("b").where(lambda event: event == ("b",))
    assert begins(pattern, "xaxab") == ".a.a."
    assert begins(Pattern.begin("a").next("b").where(lambda event: event == ("b",)), "ab") is None


class _CountingCodec:
    """Counts the events that become values."""

    schema = CODEC.schema

    def __init__(self) -> None:
        self.made = 0

    def to_columns(self, values: Sequence[Any]) -> list[Any]:
        return CODEC.to_columns(values)

    def to_values(self, columns: Sequence[Any]) -> list[Any]:
        self.made += len(columns[0])
        return CODEC.to_values(columns)


class Letters(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[str]:
        yield "".join(event[0] for _, event in match.in_order)


def test_only_events_of_matches_and_such_as_wait_become_values() -> None:
    definition = AB.definition()
    harness = Harness(lambda: CepOperator(Letters(), definition, CepSettings(EVENT), ANY))
    codec = _CountingCodec()

    def feed(events: str, first_time: int) -> None:
        columns = codec.to_columns([(event,) for event in events])
        times = list(range(first_time, first_time + len(events)))
        keys = [encode_key(place // 10 % 7) for place in range(len(events))]
        harness.operator.process(Batch(codec, columns=columns, timestamps=times, keys=keys), 0)

    feed("xaxcaxbaab" * 210, 0)
    harness.watermark(2029)
    assert harness.values() == ["ab"] * 203
    assert codec.made == 2 * 203
    # Of each key ten events wait for the next epoch.
    harness.end_epoch()
    assert codec.made == 2 * 203 + 70
    feed("xaxcaxbaab" * 210, 2100)
    harness.watermark(4200)
    assert harness.values() == ["ab"] * 217
    assert codec.made == 2 * 203 + 70 + 2 * 210
