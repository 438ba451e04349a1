"""Patterns of every kind on both engines and in both modes, over several epochs, with a restart in the middle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction, WithinType
from penstock.common import JobExecutionException, Row, Types, WatermarkStrategy
from penstock.common.codecs import codec_for
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.files import FileSink
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from penstock.expressions import col
from penstock.runtime.cep.condition_tests import ConditionTests
from penstock.runtime.cep.matches import Event
from penstock.runtime.cep.nfa import Nfa

EVENT = Types.ROW_NAMED(["key", "kind", "number", "time"], [Types.STRING(), Types.STRING(), Types.INT(), Types.LONG()])
RESULT = Types.ROW_NAMED(
    ["pattern", "outcome", "time", "events"], [Types.STRING()] * 2 + [Types.LONG(), Types.STRING()]
)
TIMED_OUT = OutputTag("timed out", RESULT)
EVENTS = [
    Row(key="xyz"[n * 7 % 3], kind="abcd"[n * n % 7 % 4], number=n, time=20 + 5 * n + n * 37 % 31) for n in range(120)
]


def is_kind(kind: str) -> Callable[[Row], bool]:
    return lambda event: event.kind == kind


def larger(event: Row, ctx: Any) -> bool:
    return event.kind == "b" and all(event.number > other.number for other in ctx.get_events_for_pattern("b"))


def patterns() -> dict[str, Pattern]:
    """Each contiguity, quantifier, negation, time limit, group, skip strategy and kind of condition."""
    past, to_next = AfterMatchSkipStrategy.skip_past_last_event(), AfterMatchSkipStrategy.skip_to_next()
    to_first, to_last = AfterMatchSkipStrategy.skip_to_first("b"), AfterMatchSkipStrategy.skip_to_last("a")
    kind = col("kind")
    inner = Pattern.begin("e").where(kind == "c").next("f").where(kind != "c")
    rounds = Pattern.begin("b").where(kind == "b").followed_by(inner).optional()
    pair = Pattern.begin("c").where(is_kind("c")).followed_by("d").where(is_kind("d"))
    return {
        "strict": Pattern.begin("a").where(kind == "a").next("b").where(kind == "b"),
        "relaxed": Pattern.begin("a").where(kind == "a").followed_by("b").where(is_kind("b")).within("60 ms"),
        "any": Pattern.begin("a").where(is_kind("a")).followed_by_any("b").subtype(Row).where(kind == "b")
        .within("80 ms"),
        "not": Pattern.begin("a").where(kind == "a").not_followed_by("c").where(kind == "c").followed_by("b")
        .where(kind == "b").within("90 ms"),
        "not next": Pattern.begin("a").where(kind == "a").not_next("c").where(kind == "c").followed_by("d")
        .where(kind == "d").within("50 ms"),
        "absent": Pattern.begin("a").where(kind == "a").not_followed_by("b").where(kind == "b").within("40 ms"),
        "times": Pattern.begin("a", past).where(kind == "a").times(2, 3).consecutive().followed_by("b").within("70 ms"),
        "loop": Pattern.begin("a", to_last).where(kind == "a").one_or_more().greedy().followed_by("b").where(larger)
        .within("70 ms"),
        "until": Pattern.begin("b").where(larger).one_or_more().allow_combinations().until(kind == "d").within("60 ms"),
        "group": Pattern.begin("a").where(kind == "a").followed_by(pair).times(2).within("150 ms"),
        "nested": Pattern.begin(rounds).times(1, 2).followed_by("a").where(kind == "a").within("120 ms"),
        "or": Pattern.begin("a", to_next).where(kind == "a").or_(kind == "c").times_or_more(2).greedy().next("b")
        .where(kind == "b").within("90 ms"),
        "optional": Pattern.begin("a", to_first).where(kind == "a").followed_by("c").where(is_kind("c")).optional()
        .followed_by("b").where(kind == "b").within("60 ms"),
        "gap": Pattern.begin("a").where(kind == "a").followed_by("b").where(kind == "b").times(2, window_time="40 ms")
        .followed_by("d").where(kind == "d").within("30 ms", WithinType.PREVIOUS_AND_CURRENT),
    }  # fmt: skip


class Time(TimestampAssigner):
    def extract_timestamp(self, value: Row, record_timestamp: int) -> int:
        return value.time


class Numbers(PatternProcessFunction):
    """Says what was found; cuts the power at one match."""

    def __init__(self, pattern: str, switch: Path | None = None) -> None:
        self.pattern = pattern
        self.switch = switch

    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[Row]:
        if self.switch is not None and ctx.timestamp() > 300 and not self.switch.exists():
            raise RuntimeError("power cut")
        yield self.row("match", match, ctx)

    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> None:
        ctx.output(TIMED_OUT, self.row("timed out", match, ctx))

    def row(self, outcome: str, match: Any, ctx: PatternProcessFunction.Context) -> Row:
        # What is complete by the passing of time has the time of the watermark, which is another on every run.
        time = -1 if self.pattern == "absent" and outcome == "match" else ctx.timestamp()
        return Row(pattern=self.pattern, outcome=outcome, time=time, events=text_of(match))


def text_of(match: Any) -> str:
    return " ".join(f"{name}={','.join(str(event.number) for event in events)}" for name, events in match.items())


def expected(names: Iterable[str]) -> list[tuple[Any, ...]]:
    """What the automaton finds in the events of each key, in the order of time."""
    found: list[tuple[Any, ...]] = []
    for name in names:
        pattern = patterns()[name]
        tests = ConditionTests(EVENT)
        definition = pattern.definition()
        nfa = Nfa(definition, tests, limit=10_000, processing_time=lambda: 0, wants_timed_out=True)
        for key in "xyz":
            ordered = sorted((event for event in EVENTS if event.key == key), key=lambda event: event.time)
            masks = tests.masks_of_values(ordered, codec_for(EVENT))
            matches = nfa.new_matches()
            for event, mask in [*zip(ordered, masks, strict=True), (None, 0)]:
                time = 1 << 40 if event is None else event.time
                complete, timed_out = nfa.advance_time(matches, time)
                if event is not None:
                    complete += nfa.process(matches, Event(event, time, mask))
                found += [(name, "match", -1 if name == "absent" else time, text_of(match)) for match in complete]
                found += [(name, "timed out", ran_out, text_of(match)) for match, ran_out in timed_out]
    return found


def searched(stream: DataStream, names: Iterable[str], switch: Path) -> DataStream:
    keyed = stream.key_by("key")
    results: list[DataStream] = []
    for name in names:
        pattern = patterns()[name]
        function = Numbers(name, switch if name == "relaxed" else None)
        result = CEP.pattern(keyed, pattern).process(function, RESULT)
        results += [result, result.get_side_output(TIMED_OUT)]
    return results[0].union(*results[1:])


def test_patterns_over_many_epochs_with_a_restart_in_the_middle(
    env: StreamExecutionEnvironment, engine_and_mode: tuple[str, str], tmp_path: Path
) -> None:
    names = list(patterns())
    env.configuration.set_string("execution.epoch.max-records", "25" if engine_and_mode[0] == "local" else "60")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner(Time())
    switch = tmp_path / "power is back"
    for attempt in range(2):
        stream = env.from_collection(EVENTS, EVENT).assign_timestamps_and_watermarks(strategy)
        searched(stream, names, switch).sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            switch.touch()
        else:
            env.execute()
    lines = [line for path in sorted((tmp_path / "out").glob("*.json")) for line in path.read_text().splitlines()]
    assert sorted(tuple(json.loads(line).values()) for line in lines) == sorted(expected(names))


def change(name: str, first: str, second: str) -> str:
    steps = [
        {"begin": "one", "where": {"field": "kind", "op": "==", "value": first}},
        {"next": "two", "where": {"field": "kind", "op": "==", "value": second}},
    ]
    return json.dumps({"id": name, "pattern": {"steps": steps}})


class WithId(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        yield ctx.pattern_id(), match["one"][0].number, match["two"][0].number


def test_patterns_that_come_by_a_stream_a_stream_without_keys_and_events_as_they_come(
    env: StreamExecutionEnvironment,
) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner(Time())
    events = env.from_collection(EVENTS, EVENT).assign_timestamps_and_watermarks(strategy)
    updates = env.from_collection([change("ab", "d", "d"), change("ab", "a", "b"), change("ba", "b", "a")])
    result_type = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
    keyed = CEP.changing_patterns(events.key_by("key"), updates).process(WithId(), result_type)
    whole = CEP.pattern(events, Pattern.begin("one").where(is_kind("c")).next("two").where(col("kind") == "d"))
    as_they_come = CEP.pattern(
        env.from_collection(EVENTS, EVENT).key_by("key"),
        Pattern.begin("one").where(col("kind") == "a").next("two").where(is_kind("c")),
    ).in_processing_time()
    others = whole.process(WithId(), result_type), as_they_come.process(WithId(), result_type)
    found = list(keyed.union(*others).execute_and_collect())
    ordered = sorted(EVENTS, key=lambda event: event.time)
    wanted = []
    for name, events_in_order, keys, kinds in (
        ("ab", ordered, "xyz", "ab"),
        ("ba", ordered, "xyz", "ba"),
        ("", ordered, [None], "cd"),
        ("", EVENTS, "xyz", "ac"),
    ):
        for key in keys:
            group = [event for event in events_in_order if key is None or event.key == key]
            wanted += [(name, one.number, two.number) for one, two in pairwise(group) if one.kind + two.kind == kinds]
    assert sorted(found) == sorted(wanted)
    assert len(wanted) > 10
