"""Conditions of expressions, whose answers are looked at in columns, against the same conditions as functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cep import PatternProcessFunction
from penstock.common import Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import MalformedPatternError, UserFunctionError
from penstock.datastream import OutputTag
from penstock.expressions import col
from penstock.patterns import CepSettings, PatternDefinition
from penstock.runtime.cep.cep_operator import CepOperator
from penstock.state.key_encoding import encode_key
from unit.runtime.cep.cep_cases import pattern_of
from unit.runtime.cep.random_cases import random_case
from unit.runtime.operator_harness import ANY, Harness

EVENT = Types.TUPLE([Types.STRING(), Types.STRING(), Types.INT()])
"""Letter, key, number."""
CODEC = codec_for(EVENT)
LATE = OutputTag("late")


class Matches(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        yield ctx.get_current_key(), "match", ctx.timestamp(), match.in_order


class MatchesAndTimedOut(Matches):
    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        yield ctx.get_current_key(), "timed out", ctx.timestamp(), match.in_order


def as_function(wanted: str) -> Any:
    return lambda event: event[0] in wanted


def as_expression(wanted: str) -> Any:
    return reduce(or_, [col("f0") == letter for letter in wanted])


def random_patterns(rng: random.Random) -> tuple[PatternDefinition, PatternDefinition]:
    """The same pattern with conditions that are expressions and such that are functions."""
    while True:
        tokens, skip, *_ = (part.strip() for part in random_case(rng).split("|"))
        if "above" in tokens:
            continue
        if rng.random() < 0.6:
            tokens = tokens.replace("followed_by_any", "next").replace(" followed_by", " next")
        try:
            return (
                pattern_of(tokens, skip, as_expression).definition(),
                pattern_of(tokens, skip, as_function).definition(),
            )
        except MalformedPatternError:
            continue


def feed(harness: Harness, events: list[tuple[tuple[str, str, int], int]]) -> None:
    """Events as they come from another task: columns."""
    columns = CODEC.to_columns([event for event, _ in events])
    keys = [encode_key(key) for (_, key, _), _ in events]
    harness.operator.process(Batch(CODEC, columns=columns, timestamps=[time for _, time in events], keys=keys), 0)


def sent(harness: Harness) -> dict[Any, list[Any]]:
    """What was sent since the last call, of each key in its order."""
    by_key: dict[Any, list[Any]] = {}
    for value, stamp in harness.taken():
        by_key.setdefault(value[0], []).append((value, stamp))
    by_key["late"] = harness.taken("late")
    return by_key


def happens_to_both(step: Callable[[Harness], None], one: Harness, other: Harness) -> bool:
    """Whether a step is the end of neither; where it is the end of one, it is that of both, for the same reason."""

    def failure(harness: Harness) -> str | None:
        try:
            step(harness)
        except UserFunctionError as error:
            return error.report.error_type
        return None

    reason = failure(other)
    assert failure(one) == reason
    assert reason in (None, "PartialMatchLimitError")
    return reason is None


@settings(max_examples=100)
@given(st.integers(0, 1 << 40))
def test_columns_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    definitions = random_patterns(rng)
    function = rng.choice([Matches, MatchesAndTimedOut])()
    options = CepSettings(EVENT, late_data_tag=LATE, limit=rng.choice([5, 1_000, 1_000]))

    def maker(definition: PatternDefinition) -> Callable[[], CepOperator]:
        return lambda: CepOperator(function, definition, options, ANY, {"late": ANY})

    by_expressions, by_functions = map(maker, definitions)
    changing, plain = Harness(by_expressions), Harness(by_functions)
    time, number = 0, 0
    for _ in range(rng.randint(2, 12)):
        events = []
        for _ in range(rng.randint(0, 12)):
            number += 1
            events.append(((rng.choice("aabbcd"), rng.choice("xyz"), number), time + rng.randint(-3, 12)))
        steps: list[Callable[[Harness], None]] = [lambda harness, events=events: feed(harness, events)]
        if rng.random() < 0.8:
            time += rng.choice([0, 1, 4, 12])
            steps.append(lambda harness, time=time: harness.watermark(time))
        if not all(happens_to_both(step, changing, plain) for step in steps):
            return
        assert sent(changing) == sent(plain)
        happens = rng.random()
        if happens < 0.3:
            changing.end_epoch()
        elif happens < 0.6:
            changing.make_operator = rng.choice([by_expressions, by_functions])
            changing.restart()
    if happens_to_both(lambda harness: harness.watermark(1 << 40), changing, plain):
        assert sent(changing) == sent(plain)
