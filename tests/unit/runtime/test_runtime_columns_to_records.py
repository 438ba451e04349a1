"""Open windows that were computed in columns, for windows that have to be computed record by record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.errors import PenstockError, StateError
from penstock.datastream import AggregateFunction, DataStream
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from penstock.expressions import count, max_, sum_
from penstock.runtime.window_state_form import PANES, SESSIONS
from penstock.state.catalogue import prefix_of
from penstock.testing import Harness, harness

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
TEN = TumblingEventTimeWindows.of(10)
GAP = EventTimeSessionWindows.with_gap(5)
LOG: list[Any] = []
Build = Callable[[Any], DataStream]


class OwnTrigger(EventTimeTrigger):
    """The same as the usual one, but nobody can know."""


class Total(AggregateFunction):
    def __init__(self, empty: Any = 0) -> None:
        self.empty = empty

    def create_accumulator(self) -> Any:
        return self.empty

    def add(self, value: Any, accumulator: Any) -> Any:
        LOG.append(value)
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Recognised(Total):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]


def logged_sum(a: Any, b: Any) -> Any:
    LOG.append(b)
    return a[0], a[1] + b[1]


def keyed(build: Build, record_type: Any = PAIR) -> Harness:
    return harness(lambda s: build(s.key_by(lambda r: r[0], Types.STRING())).uid("windows"), record_type)


def entries_of_columns(test: Harness) -> list[bytes]:
    prefixes = prefix_of("windows", PANES), prefix_of("windows", SESSIONS)
    return [key for found in test.snapshot().entries.values() for key, _ in found if key.startswith(prefixes)]


def restored(before: Harness, after: Harness) -> Harness:
    assert entries_of_columns(before)
    after.restore(before.snapshot())
    assert not entries_of_columns(after)
    return after


def left_over(test: Harness) -> list[bytes]:
    """What is in the state but descriptions."""
    stored = [key for found in test.snapshot().entries.values() for key, _ in found]
    return [key for key in stored if not key.startswith(b"\x00gate") and key[8:12] != b"\0cat"]


@pytest.mark.parametrize("trigger", [None, OwnTrigger(), ContinuousEventTimeTrigger.of(100)], ids=repr)
@pytest.mark.parametrize("lateness", [0, 5])
def test_sessions_that_grow_together_afterwards(trigger: Any, lateness: int) -> None:
    def windows(stream: Any) -> DataStream:
        made = stream.window(GAP).allowed_lateness(lateness)
        return (made if trigger is None else made.trigger(trigger)).reduce(logged_sum)

    before = keyed(lambda s: s.window(GAP).sum(1))
    for time in (1, 3, 12, 40):
        before.process_element(("a", time), time)
    after = restored(before, keyed(windows))
    after.process_element(("a", 100), 7)
    after.process_watermark(20)
    assert after.output() == [(("a", 116), 16)]
    after.process_watermark(60)
    assert after.output() == [(("a", 40), 44)]
    assert left_over(after) == []


@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize(("first", "second"), [(None, OwnTrigger()), (OwnTrigger(), None)], ids=repr)
def test_sessions_of_another_trigger(first: Any, second: Any, lateness: int) -> None:
    def windows(trigger: Any) -> Harness:
        def build(stream: Any) -> DataStream:
            made = stream.window(GAP).allowed_lateness(lateness)
            return (made if trigger is None else made.trigger(trigger)).reduce(logged_sum)

        return keyed(build)

    before, after = windows(first), windows(second)
    for time in (3, 1, 12, 40):
        before.process_element(("a", time), time)
    before.process_watermark(8)
    assert before.output() == [(("a", 4), 7)]
    after.restore(before.snapshot())
    after.process_element(("a", 100), 9)
    after.process_element(("a", 200), 7)
    expected = [(("a", 316), 16)] if lateness else [(("a", 312), 16)]
    after.process_watermark(20)
    assert after.output()[-1:] == expected
    after.process_watermark(60)
    assert after.output() == [(("a", 40), 44)]
    assert left_over(after) == []


@pytest.mark.parametrize("trigger", [None, OwnTrigger()], ids=repr)
def test_windows_end_where_nothing_more_comes(trigger: Any) -> None:
    def windows(stream: Any) -> DataStream:
        made = stream.window(SlidingEventTimeWindows.of(10, 5)).allowed_lateness(7)
        return (made if trigger is None else made.trigger(trigger)).reduce(logged_sum)

    before = keyed(lambda s: s.window(SlidingEventTimeWindows.of(10, 5)).sum(1))
    for time in (1, 6, 7, 12):
        before.process_element(("a", time), time)
    before.process_watermark(9)
    after = restored(before, keyed(windows))
    after.process_watermark(17)
    assert after.output() == [(("a", 25), 14)]
    after.process_element(("a", 100), 13)
    assert after.output() == [(("a", 125), 14)]
    after.process_watermark(50)
    assert after.output() == [(("a", 112), 19)]
    assert left_over(after) == []


def test_windows_of_processing_time() -> None:
    windows = TumblingProcessingTimeWindows.of(10)
    before = keyed(lambda s: s.window(windows).sum(1))
    before.set_processing_time(3)
    before.process_element(("a", 1))
    after = restored(before, keyed(lambda s: s.window(windows).reduce(logged_sum)))
    after.process_element(("a", 2))
    after.set_processing_time(10)
    assert after.output() == [(("a", 3), 9)]


def test_windows_that_are_staggered_now_stay_where_they_were() -> None:
    before = keyed(lambda s: s.window(TEN).sum(1))
    before.process_element(("a", 1), 1)
    staggered = TumblingEventTimeWindows.of(10, 0, WindowStagger.RANDOM)
    after = restored(before, keyed(lambda s: s.window(staggered).sum(1)))
    after.process_watermark(9)
    assert after.output() == [(("a", 1), 9)]


def test_windows_of_a_whole_stream() -> None:
    before = harness(lambda s: s.window_all(TEN).aggregate(n=count(), greatest=max_("f0")).uid("windows"), PAIR)
    after = harness(
        lambda s: s.window_all(TEN).allowed_lateness(1).aggregate(n=count(), greatest=max_("f0")).uid("windows"), PAIR
    )
    before.process_element(("b", 1), 1)
    restored(before, after).process_element(("a", 2), 2)
    after.process_watermark(9)
    assert after.output() == [(Row(n=2, greatest="b"), 9)]


def test_a_key_that_is_none_in_several_chunks() -> None:
    before = keyed(lambda s: s.window(TEN).sum(1))
    for number in range(8):
        before.process_element((f"key {number}", 1), 1)
    before.process_element((None, 1), 1)
    before.snapshot()
    before.process_element((None, 2), 1)
    after = restored(before, keyed(lambda s: s.window(TEN).reduce(logged_sum)))
    after.process_element((None, 4), 1)
    after.process_watermark(9)
    assert ((None, 7), 9) in after.output()


def test_a_least_value_of_none_in_several_chunks() -> None:
    before = keyed(lambda s: s.window(TEN).min(1))
    for number in range(8):
        before.process_element((f"key {number}", 1), 1)
    before.snapshot()
    before.process_element(("key 1", None), 1)
    with pytest.raises(PenstockError, match="None, which cannot be combined"):
        restored(before, keyed(lambda s: s.window(TEN).reduce(logged_sum)))


@dataclass
class Payment:
    card: str
    cents: int
    rate: float
    at: datetime
    price: Decimal
    tags: list[str]
    is_refund: bool | None


def test_records_of_many_types() -> None:
    def combined(a: Payment, b: Payment) -> Payment:
        return Payment(a.card, a.cents + b.cents, max(a.rate, b.rate), b.at, b.price, a.tags, a.is_refund)

    def logged(a: Payment, b: Payment) -> Payment:
        LOG.append(b)
        return combined(a, b)

    def windows(function: Any) -> Harness:
        return harness(lambda s: s.key_by("card").window(TEN).reduce(function).uid("windows"), Payment)

    payments = [
        Payment("a", 2**40, float(number), datetime(2024, 1, 1 + number), Decimal(f"{number}.50"), [str(number)], None)
        for number in range(3)
    ]
    before, alone = windows(combined), windows(logged)
    for test in (before, alone):
        test.process_element(payments[0], 1)
        test.process_element(payments[1], 2)
    for test in (restored(before, windows(logged)), alone):
        test.process_element(payments[2], 3)
        test.process_watermark(20)
        assert test.output() == [(combined(combined(*payments[:2]), payments[2]), 9)]


def test_back_and_forth() -> None:
    test = keyed(lambda s: s.window(GAP).sum(1))
    for time in range(1, 5):
        test.process_element(("a", 1), time)
        made: Build = lambda s: s.window(GAP).reduce(logged_sum)  # noqa: E731
        after = keyed(made if time % 2 else lambda s: s.window(GAP).sum(1))
        after.restore(test.snapshot())
        test = after
    test.process_watermark(20)
    assert test.output() == [(("a", 4), 8)]


OTHER = Types.TUPLE([Types.STRING(), Types.STRING()])
WIDE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


@pytest.mark.parametrize(
    ("first", "second", "record_type", "reason"),
    [
        (lambda s: s.window(TEN).sum(1), lambda s: s.window(TEN).evictor(CountEvictor.of(3)).sum(1), PAIR, "all their"),
        (lambda s: s.window(TEN).sum(1), lambda s: s.window(TEN).max_by(1), OTHER, "records of the type"),
        (lambda s: s.window(TEN).sum(1), lambda s: s.window(TEN).max_by(1), WIDE, "records of the type"),
        (lambda s: s.window(TEN).sum(1), lambda s: s.window(TEN).max_by(1), None, "records of the type"),
        (lambda s: s.window(TEN).sum(1), lambda s: s.window(GAP).max_by(1), PAIR, "they were no sessions"),
        (lambda s: s.window(GAP).sum(1), lambda s: s.window(TEN).max_by(1), PAIR, "they were sessions"),
        (
            lambda s: s.window(TEN).aggregate(Recognised()),
            lambda s: s.window(TEN).aggregate(Total([0])),
            PAIR,
            r"an accumulator like \[0\] cannot be made",
        ),
        (
            lambda s: s.window(TEN).aggregate(Recognised()),
            lambda s: s.window(TEN).aggregate(Total((0, 0))),
            PAIR,
            r"an accumulator like \(0, 0\) cannot be made",
        ),
        (
            lambda s: s.window(TEN).aggregate(total=sum_("f1")),
            lambda s: s.window(TEN).allowed_lateness(1).aggregate(total=max_("f1")),
            PAIR,
            "the aggregates total=",
        ),
    ],
)
def test_what_cannot_be_gone_on_with_is_refused(first: Build, second: Build, record_type: Any, reason: str) -> None:
    before, after = keyed(first), keyed(second, record_type)
    before.process_element(("a", 1), 1)
    with pytest.raises(StateError, match=rf"computes them record by record, but .*{reason}.* Keep what decides that"):
        after.restore(before.snapshot())
    # Nothing of it is lost.
    again = keyed(first)
    again.restore(before.snapshot())
    again.process_watermark(20)
    assert len(again.output()) == 1
