"""Every schedule of a search for patterns gives the same matches: arrival order, epochs, subtasks, crashes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from penstock.common import Types
from penstock.datastream import DataStream, OutputTag
from penstock.expressions import col
from penstock.testing import fuzz

EVENT = Types.TUPLE([Types.STRING(), Types.STRING(), Types.INT()])
RECORDS = [(("xy"[n * 5 % 7 % 2], "abac"[n * 3 % 4], n), n * 310) for n in range(16)]
TIMED_OUT = OutputTag("timed out", Types.STRING())
EXAMPLES = 15


class Shown(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[str]:
        yield f"match {[(name, event[2]) for name, event in match.in_order]}"

    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> None:
        ctx.output(TIMED_OUT, f"timed out {[(name, event[2]) for name, event in match.in_order]}")


def kind(letter: str) -> Any:
    return col("f1") == letter


def larger(event: Any, ctx: Any) -> bool:
    return all(event[2] > other[2] for other in ctx.get_events_for_pattern("a"))


def test_a_loop_with_a_time_limit_and_a_negation() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = Pattern.begin("a", skip).where(kind("a")).where(larger).one_or_more().not_followed_by("c")
    pattern = pattern.where(kind("c")).followed_by("b").where(kind("b")).within("2 s")

    def build(stream: DataStream) -> DataStream:
        found = CEP.pattern(stream.key_by(0), pattern).process(Shown(), Types.STRING())
        return found.union(found.get_side_output(TIMED_OUT))

    fuzz(build, RECORDS, disorder="1 s", types=[EVENT], timestamps=True, max_examples=EXAMPLES)


def test_strict_steps_of_expressions_alone() -> None:
    pattern = Pattern.begin("a").where(kind("a")).next("b").where(kind("b")).optional().next("c").where(kind("c"))

    def build(stream: DataStream) -> DataStream:
        return CEP.pattern(stream.key_by(0), pattern).process(Shown(), Types.STRING())

    fuzz(build, RECORDS, disorder="1 s", types=[EVENT], timestamps=True, max_examples=EXAMPLES)
