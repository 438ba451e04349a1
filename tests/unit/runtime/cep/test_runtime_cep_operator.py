"""The operator, with all but its store gone after every step."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.cep import AfterMatchSkipStrategy, IterativeCondition, NearMiss, Pattern, PatternProcessFunction
from penstock.common import Types
from penstock.common.errors import MissingTimestampError, UserFunctionError
from penstock.datastream import OutputTag
from penstock.patterns import CepSettings
from penstock.runtime.cep.cep_operator import CepOperator
from penstock.runtime.operator import MAX_WATERMARK
from penstock.state.key_encoding import encode_key
from penstock.state.state_keys import StateKeys
from unit.runtime.cep.cep_cases import pattern_of, shown
from unit.runtime.operator_harness import ANY, Harness

RECORDED = json.loads((Path(__file__).parent / "flink_cases.json").read_text())
LATE, TIMED_OUT, MISSES = OutputTag("late"), OutputTag("timed out"), OutputTag("misses")
OBJECTS = Types.PICKLED_BYTE_ARRAY()


class Shown(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[str]:
        yield f"{ctx.timestamp()}!{shown(match)}"

    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[str]:
        yield f"{ctx.timestamp()}?{shown(match)}"


def operator(pattern: Pattern, *, function: Any = None, **settings: Any) -> Callable[[], CepOperator]:
    definition = pattern.definition()
    codecs = {tag.tag_id: ANY for tag in (LATE, TIMED_OUT, MISSES)}
    return lambda: CepOperator(function or Shown(), definition, CepSettings(OBJECTS, **settings), ANY, codecs)


def by_key(event: str) -> str:
    return event.partition("/")[2]


def feed(harness: Harness, *events: str) -> None:
    """Events as `letter number [/key] @ time`."""
    for event in events:
        value, _, time = event.partition("@")
        harness.process([value], key=by_key, timestamps=[int(time)])


AB = "begin:a where:a followed_by:b where:b within:10"


@pytest.mark.parametrize("recorded", RECORDED, ids=[f"{number}" for number in range(len(RECORDED))])
def test_a_restart_after_every_event_and_watermark_changes_nothing(recorded: dict[str, str]) -> None:
    tokens, skip, events, last = (part.strip() for part in recorded["case"].split("|"))
    make = operator(pattern_of(tokens, skip))

    def found(*, restarts: bool, watermarks: bool) -> list[str]:
        harness = Harness(make, restarts=restarts)
        for event in events.split():
            if watermarks:
                harness.watermark(int(event.partition("@")[2]) - 1)
            feed(harness, event)
        harness.watermark(int(last))
        return harness.values()

    assert found(restarts=True, watermarks=False) == recorded["found"].split()
    assert found(restarts=True, watermarks=True) == found(restarts=False, watermarks=True)


@pytest.mark.parametrize("restarts", [False, True])
def test_events_are_looked_at_in_the_order_of_time_when_the_watermark_has_passed_them(restarts: bool) -> None:
    harness = Harness(operator(pattern_of(AB)), restarts=restarts)
    feed(harness, "b2@5", "a1@3", "b3@8")
    assert harness.values() == []
    harness.watermark(4)
    assert harness.values() == []
    harness.watermark(6)
    assert harness.taken() == [("5!a=a1;b=b2", 5)]
    harness.watermark(20)
    assert harness.values() == []


def test_events_behind_the_watermark_are_late() -> None:
    harness = Harness(operator(pattern_of(AB), late_data_tag=LATE))
    harness.watermark(5)
    feed(harness, "a1@5", "a2@6")
    assert harness.taken("late") == [("a1", 5)]
    counted = Harness(operator(pattern_of(AB)))
    counted.watermark(5)
    feed(counted, "a1@4")
    assert counted.context.metrics.snapshot()["counters"] == {"num_late_records_dropped": 1}


def test_an_event_without_a_timestamp_is_an_error() -> None:
    harness = Harness(operator(pattern_of(AB)))
    with pytest.raises(MissingTimestampError, match="in_processing_time"):
        harness.process(["a1"], key=by_key)


@pytest.mark.parametrize("restarts", [False, True])
def test_keys_have_matches_of_their_own(restarts: bool) -> None:
    harness = Harness(operator(pattern_of(AB)), restarts=restarts)
    feed(harness, "a1/x@1", "a2/y@2", "b3/y@3", "b4/x@4", "b5/z@5")
    harness.watermark(20)
    assert harness.taken() == [("4!a=a1/x;b=b4/x", 4), ("3!a=a2/y;b=b3/y", 3)]


@pytest.mark.parametrize("restarts", [False, True])
def test_partial_matches_time_out_with_the_watermark_alone(restarts: bool) -> None:
    harness = Harness(operator(pattern_of(AB)), restarts=restarts)
    feed(harness, "a1@1", "a2@4")
    harness.watermark(10)
    assert harness.values() == []
    harness.watermark(11)
    assert harness.taken() == [("11?a=a1", 11)]
    harness.watermark(MAX_WATERMARK)
    assert harness.taken() == [("14?a=a2", 14)]
    harness.end_epoch()
    assert [key for key, _ in harness.store.scan(b"", b"\xff" * 40) if b"\0cat" not in key] == []


@pytest.mark.parametrize("restarts", [False, True])
def test_what_did_not_come_is_a_match_when_time_is_up(restarts: bool) -> None:
    for limit in ("within:10", "within_previous:10"):
        harness = Harness(operator(pattern_of(f"begin:a where:a not_followed_by:b where:b {limit}")), restarts=restarts)
        feed(harness, "a1@1", "a2@5", "b3@12")
        harness.watermark(MAX_WATERMARK)
        assert harness.taken() == [("12!a=a1", 12)]


def test_a_comparator_orders_events_of_the_same_time() -> None:
    def by_letter(one: str, two: str) -> int:
        return (one > two) - (one < two)

    harness = Harness(operator(pattern_of("begin:a where:a next:b where:b"), comparator=by_letter), restarts=True)
    feed(harness, "b2@5", "a1@5", "b3@6")
    harness.watermark(9)
    assert harness.values() == ["5!a=a1;b=b2"]


@pytest.mark.parametrize("restarts", [False, True])
def test_in_processing_time_events_are_looked_at_as_they_come(restarts: bool) -> None:
    harness = Harness(operator(pattern_of(AB), is_event_time=False), restarts=restarts)
    harness.clock(1_000)
    harness.process(["a1", "b2", "a3"], key=by_key)
    assert harness.taken() == [("1000!a=a1;b=b2", None)]
    assert harness.operator.next_processing_timer() == 1_011
    harness.clock(1_010)
    assert harness.values() == []
    harness.clock(1_011)
    assert harness.taken() == [("1010?a=a3", None)]


def test_in_processing_time_a_comparator_waits_for_the_next_tick() -> None:
    pattern = pattern_of("begin:a where:a next:b where:b")
    comparing = operator(pattern, is_event_time=False, comparator=lambda one, two: (one > two) - (one < two))
    harness = Harness(comparing, restarts=True)
    harness.clock(1_000)
    harness.process(["b2", "a1"], key=by_key)
    assert harness.values() == []
    harness.clock(1_001)
    assert harness.values() == ["1000!a=a1;b=b2"]
    harness.process(["b2", "a1"], key=by_key)
    harness.operator.finish()
    assert harness.values() == ["1001!a=a1;b=b2"]


def test_long_matches_are_saved_in_pages_that_are_written_once() -> None:
    harness = Harness(operator(pattern_of("begin:a where:a next:b where:b one_or_more consecutive next:c where:c")))
    feed(harness, "a0@0")
    written: list[int] = []
    for number in range(1, 300):
        feed(harness, f"b{number}@{number}")
        harness.watermark(number)
        harness.operator.end_epoch()
        written.append(sum(len(value or b"") for _, value in harness.store.changes()))
        harness.restart()
    feed(harness, "c0@300")
    harness.watermark(300)
    (found,) = harness.values()
    assert found.count("b") == 1 + 299
    # Of 300 events no epoch writes more than those of a page or two.
    assert max(written) < 12_000
    harness.restart()
    feed(harness, "a1@301", "b1@302", "c1@303")
    harness.watermark(303)
    assert harness.values() == ["303!a=a1;b=b1;c=c1"]


def test_the_stored_form_is_the_one_that_is_written_down() -> None:
    harness = Harness(operator(pattern_of("begin:a where:a followed_by:b where:b one_or_more followed_by:c where:c")))
    start = ("a", -1, 1 << 62, -1, -1)
    cells = [(64, "b", 63, 2, 7, "b2/k")]
    head = (1, 3, 1 << 63, [("b", 64, 1, 5, 7), start], [], 65, cells)
    key = encode_key("k")
    place = StateKeys("sessions", "cep: matches", 128).of(key)
    harness.store.put(place, pickle.dumps(head))
    harness.store.put(place + (0).to_bytes(4, "big"), pickle.dumps([(63, "a", -1, 1, 5, "a1/k")]))
    harness.end_epoch()
    harness.restart()
    feed(harness, "c3/k@9")
    harness.watermark(9)
    assert harness.values() == ["9!a=a1/k;b=b2/k;c=c3/k"]


def test_partial_matches_of_another_pattern_are_refused() -> None:
    harness = Harness(operator(pattern_of("begin:a where:a next:b where:b next:c where:c")))
    feed(harness, "a1@1", "b2@2")
    harness.watermark(2)
    harness.make_operator = operator(pattern_of("begin:a where:a next:d where:d"))
    harness.restart()
    feed(harness, "c3@3")
    with pytest.raises(UserFunctionError, match=r"in the state 'c', which the pattern does not have.*another uid"):
        harness.watermark(3)


def test_watermarks_behind_every_event_take_what_is_due_and_no_more() -> None:
    harness = Harness(operator(pattern_of("begin:a where:a next:b where:b")))
    count = 3_000
    events = [f"{'ab'[number % 2]}{number}" for number in range(count)]
    harness.process(events, key=by_key, timestamps=list(range(count)))
    for time in range(0, count, 7):
        harness.watermark(time)
    harness.watermark(count)
    assert len(harness.values()) == count // 2


class Opened(IterativeCondition):
    """Counts what happens to it."""

    log: ClassVar[list[str]] = []

    def open(self, runtime_context: Any) -> None:
        self.log.append(f"open in {runtime_context.get_task_name()}")

    def close(self) -> None:
        self.log.append("close")

    def filter(self, value: str, ctx: Any) -> bool:
        self.log.append(f"{value} at {ctx.timestamp()}, clock {ctx.current_processing_time()}")
        return value.startswith("b")


def test_conditions_are_opened_told_the_time_and_closed() -> None:
    pattern = Pattern.begin("a").where(lambda event: event.startswith("a")).next("b").where(Opened())
    harness = Harness(operator(pattern))
    feed(harness, "a1@1", "b2@2")
    harness.watermark(5)
    harness.operator.close()
    assert Opened.log == ["open in Sessions", "b2 at 2, clock 1000", "close"]
    assert harness.values() == ["2!a=a1;b=b2"]


def test_a_condition_that_raises_is_reported_with_key_and_event() -> None:
    pattern = Pattern.begin("a").where(lambda event: 1 // (len(event) - 4))
    harness = Harness(operator(pattern))
    feed(harness, "a1/k@1")
    with pytest.raises(UserFunctionError) as raised:
        harness.watermark(5)
    assert raised.value.report.error_type == "ZeroDivisionError"
    assert (raised.value.report.key, raised.value.report.record) == ("'k'", "'a1/k'")


def test_near_misses_say_how_far_a_partial_match_came_and_what_stopped_it() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = (
        Pattern.begin("a", skip).where(lambda event: event[0] == "a")
        .next("b").where(lambda event: event[0] == "b")
        .not_followed_by("c").where(lambda event: event[0] == "c")
        .followed_by("d").where(lambda event: event[0] == "d")
        .within(10)
    )  # fmt: skip
    harness = Harness(operator(pattern, near_misses_tag=MISSES), restarts=True)
    feed(harness, "a1@1", "x2@2", "a3@3", "b4@4", "c5@5", "a6@6", "b7@7")
    harness.watermark(50)
    misses: list[NearMiss] = harness.values("misses")
    assert [(miss.match, miss.waiting_for, miss.event) for miss in misses] == [
        ({"a": ["a1"]}, ("b",), "x2"),
        ({"a": ["a3"], "b": ["b4"]}, ("d",), "c5"),
        ({"a": ["a6"], "b": ["b7"]}, ("d",), None),
    ]
    assert [miss.reason.split(":")[0].split(" (")[0] for miss in misses] == [
        "the event had to be 'b'",
        "'c' came, which must not",
        "time ran out at 16",
    ]
    assert harness.values() == ["16?a=a6;b=b7"]


def test_near_misses_say_what_a_match_ended() -> None:
    pattern = pattern_of("begin:a where:a followed_by:b where:b", "past")
    harness = Harness(operator(pattern, near_misses_tag=MISSES))
    feed(harness, "a1@1", "a2@2", "b3@3")
    harness.watermark(50)
    (miss,) = harness.values("misses")
    assert (miss.match, miss.reason) == ({"a": ["a2"], "b": ["b3"]}, "given up after a match: skip_past_last_event()")
