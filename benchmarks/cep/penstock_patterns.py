"""The patterns in Penstock; conditions are expressions."""

from __future__ import annotations

from collections.abc import Iterator

from cep.events import KINDS, WITHIN_MS, A, B, C
from common.contender import Arguments
from common.penstock_job import make_environment, run_counted
from penstock.cep import CEP, MatchedEvents, Pattern, PatternProcessFunction
from penstock.common import Types
from penstock.expressions import Expression, col
from windows.timed_source import timed_records


class Took(PatternProcessFunction):
    def process_match(self, match: MatchedEvents, ctx: PatternProcessFunction.Context) -> Iterator[tuple[int, int]]:
        first = match["a"][0]
        yield first.k, match["b"][0].ts - first.ts


def is_kind(kind: tuple[int, int]) -> Expression:
    of_event = col("ts") % KINDS
    return (of_event >= kind[0]) & (of_event < kind[1])


def followed_by() -> Pattern:
    """An A, then a B within 10 s, without a C between."""
    pattern = Pattern.begin("a").where(is_kind(A)).not_followed_by("c").where(is_kind(C))
    return pattern.followed_by("b").where(is_kind(B)).within(WITHIN_MS)


def strictly_next() -> Pattern:
    """An A, and a B right behind it."""
    return Pattern.begin("a").where(is_kind(A)).next("b").where(is_kind(B))


def run(pattern: Pattern, arguments: Arguments) -> None:
    env = make_environment(arguments)
    found = CEP.pattern(timed_records(env, arguments).key_by("k"), pattern)
    run_counted(env, found.process(Took(), Types.TUPLE([Types.LONG(), Types.LONG()])), arguments)
