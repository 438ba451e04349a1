"""Every schedule of triggers, evictors and assigners gives the same answer; where the order counts, it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.window_operators import SessionsWithinADay, WindowsByNumber
from penstock.common import Types
from penstock.datastream import ProcessWindowFunction
from penstock.datastream.state import ReducingStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    TimeEvictor,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from penstock.testing import FuzzCase, fuzz

MILLIS_APART = 370
RECORDS = [(("abc"[n * 7 % 3], n), n * MILLIS_APART) for n in range(12)]
DISORDER = "1 s"
EXAMPLES = 6
AT_THE_END = GlobalWindows.create_with_end_of_stream_trigger()
TWO_SECONDS = TumblingEventTimeWindows.of("2 s")


def key(value: Any) -> str:
    return value[0]


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    """The numbers of a window, in any order."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, repr(context.window()), sorted(number for _, number in elements)


class InOrder(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, repr(context.window()), [number for _, number in elements]


class Sizes(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, repr(context.window()), len(list(elements))


class Elements(ProcessWindowFunction[Any, Any, Any, Any]):
    """Each number by itself: how many firings they are spread over does not count."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        for _, number in elements:
            yield key, window.start <= number * MILLIS_APART < window.end, number


def each_once(records: Any) -> list[Any]:
    return [(name, True, number) for (name, number), _ in records]


def of_two_seconds(records: Any) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Timestamp and number of the records of each key and window."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for (name, number), timestamp in records:
        found.setdefault((name, timestamp // 2_000 * 2_000), []).append((timestamp, number))
    return found


def shown(start: int) -> str:
    return f"TimeWindow(start={start}, end={start + 2_000})"


def test_a_purging_trigger_loses_and_doubles_nothing() -> None:
    trigger = PurgingTrigger.of(ContinuousEventTimeTrigger.of("250 ms"))
    fuzz(
        lambda s: s.key_by(key).window(TWO_SECONDS).trigger(trigger).process(Elements()),
        RECORDS,
        disorder=DISORDER,
        oracle=each_once,
        max_examples=EXAMPLES,
    )


def test_a_count_trigger_fires_at_the_same_sizes() -> None:
    """Which records those are is a matter of their order; how many, is not."""
    fuzz(
        lambda s: s.key_by(key).window(TWO_SECONDS).trigger(CountTrigger.of(2)).process(Sizes()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: [
            ((name, shown(start), size), start + 1_999)
            for (name, start), inside in of_two_seconds(records).items()
            for size in range(2, len(inside) + 1, 2)
        ],
        max_examples=EXAMPLES,
    )


def test_a_purging_count_trigger_keeps_the_order_of_a_split() -> None:
    trigger = PurgingTrigger.of(CountTrigger.of(2))
    fuzz(
        lambda s: s.key_by(key).window(GlobalWindows.create()).trigger(trigger).process(InOrder()),
        RECORDS,
        split_by=key,  # which two are together depends on the order in which a key's records come
        max_examples=EXAMPLES,
    )


def test_a_time_evictor_keeps_the_newest_in_any_order() -> None:
    fuzz(
        lambda s: s.key_by(key).window(TWO_SECONDS).evictor(TimeEvictor.of("1200 ms")).process(Contents()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: [
            ((name, shown(start), [n for t, n in sorted(inside) if t > max(inside)[0] - 1_200]), start + 1_999)
            for (name, start), inside in of_two_seconds(records).items()
        ],
        max_examples=EXAMPLES,
    )


def test_a_delta_evictor_sees_the_order_of_a_split() -> None:
    near = DeltaEvictor.of(4, lambda one, last: last[1] - one[1])
    fuzz(
        lambda s: s.key_by(key).window(AT_THE_END).evictor(near).process(InOrder()),
        RECORDS,
        split_by=key,  # it measures from the record that came last
        oracle=lambda records: [
            (name, "GlobalWindow", [n for n in numbers if numbers[-1] - n < 4])
            for name in "abc"
            if (numbers := [number for (other, number), _ in records if other == name])
        ],
        max_examples=EXAMPLES,
    )


def test_a_global_window_that_fires_at_the_end_has_everything() -> None:
    fuzz(
        lambda s: s.key_by(key).window(AT_THE_END).process(Contents()),
        RECORDS,
        disorder=DISORDER,
        oracle=lambda records: [
            (name, "GlobalWindow", sorted(n for (other, n), _ in records if other == name))
            for name in {name for (name, _), _ in records}
        ],
        max_examples=EXAMPLES,
    )


@pytest.mark.parametrize("stagger", [WindowStagger.NATURAL, WindowStagger.RANDOM])
def test_shifted_windows_lose_and_double_nothing(stagger: WindowStagger) -> None:
    """Where they begin depends on the subtask, and on when it has seen its first record."""
    fuzz(
        lambda s: s.key_by(key).window(TumblingEventTimeWindows.of("2 s", 0, stagger)).process(Elements()),
        RECORDS,
        disorder=DISORDER,
        oracle=each_once,
        max_examples=EXAMPLES,
    )


@pytest.mark.parametrize(
    "assigner",
    [WindowsByNumber(700, 2_000), SessionsWithinADay(1_200, 3_000)],
    ids=lambda assigner: type(assigner).__name__,
)
def test_windows_of_the_programs_own(assigner: WindowAssigner[Any, Any]) -> None:
    fuzz(
        lambda s: s.key_by(key).window(assigner).process(Contents()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        max_examples=EXAMPLES,
    )


class NoneAlone(EventTimeTrigger):
    """Fires at the end of a window that has two records or more: its state grows together with the windows."""

    count = ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.get_partitioned_state(self.count).add(1)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        is_due = time == window.max_timestamp() and ctx.get_partitioned_state(self.count).get() > 1
        return TriggerResult.FIRE_AND_PURGE if is_due else TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.count)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self.count).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


def sessions_of_several(records: Any) -> list[Any]:
    found: list[Any] = []
    for name in "abc":
        inside: list[tuple[int, int]] = []
        for timestamp, number in sorted((t, n) for (other, n), t in records if other == name):
            if inside and timestamp > inside[-1][0] + 1_200:
                found.append((name, inside))
                inside = []
            inside.append((timestamp, number))
        found.append((name, inside))
    return [
        (
            (name, f"TimeWindow(start={inside[0][0]}, end={inside[-1][0] + 1_200})", [n for _, n in inside]),
            inside[-1][0] + 1_199,
        )
        for name, inside in found
        if len(inside) > 1
    ]


CRASH_AFTER_CRASH = [
    FuzzCase(
        splits=(((0, 2, 1, "idle"), ("pause", 4, 3, "pause", 7, 6, 9), (5, 8, "idle")),),
        epoch_records=1,
        parallelism=2,
        crashes=(steps,) * 4,
    )
    for steps in range(14, 28)
]
"""Splits that wait or are idle, and four runs that commit an epoch each and die in the next: at every place of it."""


def test_a_trigger_of_the_programs_own_in_sessions() -> None:
    fuzz(
        lambda s: s.key_by(key)
        .window(EventTimeSessionWindows.with_gap("1200 ms"))
        .trigger(NoneAlone())
        .process(Contents()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=sessions_of_several,
        examples=CRASH_AFTER_CRASH,
        max_examples=EXAMPLES,
    )  # fmt: skip
