"""Every schedule of an operator on one stream gives the same answer: arrival order, epochs, subtasks, crashes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
)
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import fuzz

RECORDS = [(("abc"[n * 7 % 3], n), n * 370) for n in range(14)]
DISORDER = "1 s"
EXAMPLES = 12


def key(value: Any) -> str:
    return value[0]


def of_keys(records: Any) -> dict[str, list[tuple[int, int]]]:
    """(number, timestamp) by key."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (name, number), timestamp in records:
        found[name].append((number, timestamp))
    return found


def window_sums(records: Any, size: int, slide: int) -> list[tuple[tuple[str, int], int]]:
    """The sum of each key and window, with the window's last millisecond."""
    sums: dict[tuple[str, int], int] = defaultdict(int)
    for (name, number), timestamp in records:
        last = timestamp - timestamp % slide
        for start in range(last, timestamp - size, -slide):
            sums[name, start] += number
    return [((name, total), start + size - 1) for (name, start), total in sums.items()]


def session_sums(records: Any, gap: int) -> list[tuple[tuple[str, int], int]]:
    """The sum of each key and session, with the session's last millisecond."""
    results = []
    for name, timed in of_keys(records).items():
        end = total = None
        for number, timestamp in sorted(timed, key=lambda each: each[1]):
            if end is not None and timestamp > end:
                results.append(((name, total), end - 1))
                total = None
            end, total = timestamp + gap, (total or 0) + number
        results.append(((name, total), end - 1))
    return results


class Total(AggregateFunction):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value if accumulator is None else (value[0], accumulator[1] + value[1])

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, a: Any, b: Any) -> Any:
        return a[0], a[1] + b[1]


class Contents(ProcessWindowFunction):
    """The sum of a window's elements."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, sum(number for _, number in elements)


class OfWindow(ProcessWindowFunction):
    """The numbers of a window's elements."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, sorted(number for _, number in elements)


class BySortedTime(KeyedProcessFunction):
    """Waits until the watermark says that nothing older comes, then numbers the records of a key by their time."""

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.waiting.add((ctx.timestamp(), value[1]))
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        still = []
        for stamp, number in self.waiting.get():
            if stamp == timestamp:
                count = (self.count.value() or 0) + 1
                self.count.update(count)
                yield ctx.get_current_key(), number, count
            else:
                still.append((stamp, number))
        self.waiting.update(still)


def in_time_order(records: Any) -> list[Any]:
    return [
        ((name, number, place + 1), timestamp)
        for name, timed in of_keys(records).items()
        for place, (number, timestamp) in enumerate(sorted(timed, key=lambda each: each[1]))
    ]


def test_timers_of_event_time_bring_the_records_of_a_key_in_order() -> None:
    fuzz(
        lambda s: s.key_by(key).process(BySortedTime()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=in_time_order,
        max_examples=EXAMPLES,
    )


def test_a_rolling_reduce_ends_at_the_whole_sum() -> None:
    fuzz(
        lambda s: s.key_by(key).reduce(lambda a, b: (a[0], a[1] + b[1])),
        RECORDS,
        disorder=DISORDER,
        latest_by=key,
        oracle=lambda records: [(name, sum(n for n, _ in timed)) for name, timed in of_keys(records).items()],
        max_examples=EXAMPLES,
    )


def test_tumbling_windows_with_reduce() -> None:
    fuzz(
        lambda s: s.key_by(key)
        .window(TumblingEventTimeWindows.of("1 s"))
        .reduce(lambda a, b: (a[0], a[1] + b[1])),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: window_sums(records, 1_000, 1_000),
        max_examples=EXAMPLES,
    )  # fmt: skip


def by_number(value: Any, before: int) -> int:
    return value[1] * 500


def windows_by_number(records: Any) -> list[Any]:
    return window_sums([(value, by_number(value, 0)) for value, _ in records], 1_000, 1_000)


def test_timestamps_and_watermarks_in_the_middle_of_a_graph() -> None:
    """The new times are further apart than the old ones, and so is what comes out of order."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("2 s").with_timestamp_assigner(by_number)
    fuzz(
        lambda s: s.map(lambda v: v)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(key)
        .window(TumblingEventTimeWindows.of("1 s"))
        .process(Contents()),
        RECORDS,
        disorder=DISORDER,
        split_by=lambda value: "all",  # a generator behind the source is of a subtask: splits overtake each other there
        timestamps=True,
        oracle=windows_by_number,
        max_examples=EXAMPLES,
    )  # fmt: skip


def test_splits_that_overtake_each_other_before_new_watermarks_lose_nothing_that_may_be_late() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(by_number)
    fuzz(
        lambda s: s.rebalance()
        .assign_timestamps_and_watermarks(strategy)
        .key_by(key)
        .window(TumblingEventTimeWindows.of("1 s"))
        .allowed_lateness("1 h")
        .process(OfWindow()),
        RECORDS,
        disorder=DISORDER,
        latest_by=lambda value: value[:2],
        max_examples=EXAMPLES,
    )  # fmt: skip


def test_declared_types_give_the_same_windows() -> None:
    fuzz(
        lambda s: s.key_by(key).window(TumblingEventTimeWindows.of("1 s")).sum(1),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: window_sums(records, 1_000, 1_000),
        types=[Types.TUPLE([Types.STRING(), Types.LONG()])],
        max_examples=EXAMPLES,
    )


def test_sliding_windows_with_an_aggregate() -> None:
    fuzz(
        lambda s: s.key_by(key).window(SlidingEventTimeWindows.of("2 s", "1 s")).aggregate(Total()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: window_sums(records, 2_000, 1_000),
        max_examples=EXAMPLES,
    )


def test_session_windows_with_reduce_merge_alike() -> None:
    fuzz(
        lambda s: s.key_by(key)
        .window(EventTimeSessionWindows.with_gap("1200 ms"))
        .reduce(lambda a, b: (a[0], a[1] + b[1])),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: session_sums(records, 1_200),
        max_examples=EXAMPLES,
    )  # fmt: skip


def test_session_windows_with_elements_merge_alike() -> None:
    fuzz(
        lambda s: s.key_by(key).window(EventTimeSessionWindows.with_gap("1200 ms")).process(Contents()),
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: session_sums(records, 1_200),
        max_examples=EXAMPLES,
    )


def test_windows_of_windows_fire_alike() -> None:
    def build(stream: Any) -> Any:
        short = stream.key_by(key).window(TumblingEventTimeWindows.of("1 s")).process(Contents())
        totals = short.map(lambda value: value[1])
        return totals.window_all(TumblingEventTimeWindows.of("2 s")).reduce(lambda a, b: a + b)

    fuzz(
        build,
        RECORDS,
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: [
            (total, last) for (_, total), last in window_sums([(("all", n), t) for (_, n), t in records], 2_000, 2_000)
        ],
        max_examples=EXAMPLES,
    )


def test_late_firings_end_at_the_whole_sum() -> None:
    """Windows that fire early, and again for late records: the last result of a window has all its records."""
    fuzz(
        lambda s: (
            s.key_by(key)
            .window(TumblingEventTimeWindows.of("1 s"))
            .trigger(ContinuousEventTimeTrigger.of("250 ms"))
            .allowed_lateness("1 h")
            .process(OfWindow())
        ),
        RECORDS,
        disorder=DISORDER,
        latest_by=lambda value: value[:2],
        max_examples=EXAMPLES,
    )


def test_count_windows_keep_the_order_of_a_split() -> None:
    fuzz(
        lambda s: s.key_by(key).count_window(3).process(Contents()),
        RECORDS,
        split_by=key,
        max_examples=EXAMPLES,
    )


def test_sliding_count_windows_keep_the_order_of_a_split() -> None:
    fuzz(
        lambda s: s.key_by(key).count_window(3, 2).reduce(lambda a, b: (a[0], a[1] + b[1])),
        RECORDS,
        split_by=key,
        max_examples=EXAMPLES,
    )


def test_an_evictor_sees_the_order_of_a_split() -> None:
    fuzz(
        lambda s: s.key_by(key)
        .window(TumblingEventTimeWindows.of("2 s"))
        .evictor(CountEvictor.of(2))
        .process(Contents()),
        RECORDS,
        split_by=key,
        timestamps=True,
        max_examples=EXAMPLES,
    )  # fmt: skip


class Twice(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        await asyncio.sleep(0)
        return [(value[0], value[1] * 2)]


def test_async_calls_lose_and_double_nothing() -> None:
    def build(stream: Any) -> Any:
        called = AsyncDataStream.unordered_wait(stream, Twice(), "10 s")
        return called.key_by(key).window(TumblingEventTimeWindows.of("1 s")).process(Contents())

    fuzz(
        build,
        [((name, n / 2), t) for (name, n), t in RECORDS],
        disorder=DISORDER,
        timestamps=True,
        oracle=lambda records: [
            ((name, total * 2), last) for (name, total), last in window_sums(records, 1_000, 1_000)
        ],
        max_examples=EXAMPLES,
    )


def test_partitioning_of_any_kind_loses_nothing() -> None:
    def build(stream: Any) -> Any:
        spread = stream.rebalance().map(lambda v: v).shuffle().map(lambda v: v).rescale().filter(lambda v: v[1] != 3)
        return spread.global_().map(lambda v: v[1])

    fuzz(
        build,
        RECORDS,
        disorder=DISORDER,
        oracle=lambda records: [number for (_, number), _ in records if number != 3],
        max_examples=EXAMPLES,
    )
