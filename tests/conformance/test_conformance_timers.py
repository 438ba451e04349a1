"""Timers of processing time, and those of functions of two streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from conformance.one_job import collect_each
from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor

AN_HOUR = 3_600_000


class InAnHour(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + AN_HOUR)
        yield f"seen {value}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"timer of {ctx.get_current_key()}"


def test_timers_still_pending_at_the_end_of_input(env: StreamExecutionEnvironment, mode: str) -> None:
    """As in Flink: a stream that ends drops them, a batch fires them when a key has no more records."""
    stream = env.from_collection([1, 2, 3]).key_by(lambda n: n).process(InAnHour(), Types.STRING())
    expected = Counter(["seen 1", "seen 2", "seen 3"])
    if mode == "BATCH":
        expected += Counter(["timer of 1", "timer of 2", "timer of 3"])
    assert Counter(stream.execute_and_collect()) == expected


class Overdue(KeyedProcessFunction):
    """Each key registers the same past time twice: one timer, which fires with the key's state at hand."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_processing_time_timer(1_000)
        ctx.timer_service().register_processing_time_timer(2_000)
        ctx.timer_service().delete_processing_time_timer(2_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int, int]]:
        yield ctx.get_current_key(), timestamp, self.count.value()


def test_a_due_timer_fires_once_with_the_state_of_its_key(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([7, 8, 8]).key_by(lambda n: n).process(Overdue())
    results = Counter((key, timestamp) for key, timestamp, count in stream.execute_and_collect() if count >= 1)
    assert set(results) == {(7, 1_000), (8, 1_000)}
    assert results[7, 1_000] == 1


def set_timers(number: int, ctx: Any) -> None:
    """One at the number, twice; one that is taken back."""
    timers = ctx.timer_service()
    for time in (number, number, number + 1_000):
        timers.register_event_time_timer(time)
    timers.delete_event_time_timer(number + 1_000)


class OfTwo(KeyedCoProcessFunction):
    def process_element1(self, value: int, ctx: Any) -> None:
        set_timers(value, ctx)

    def process_element2(self, value: int, ctx: Any) -> None:
        set_timers(value + 100, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        yield ctx.get_current_key(), timestamp


class OfBroadcast(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: int, ctx: Any) -> None:
        set_timers(value, ctx)

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(SEEN).put(value, value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        yield ctx.get_current_key(), timestamp


SEEN = MapStateDescriptor("seen", Types.LONG(), Types.LONG())


def test_timers_of_two_streams_are_set_once_and_taken_back(env: StreamExecutionEnvironment) -> None:
    first, second = (env.from_collection(numbers, Types.LONG()) for numbers in ([1, 2, 3, 1], [2, 4]))
    keyed = first.key_by(lambda n: n % 2, Types.LONG())
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    found = collect_each(
        env,
        {
            "connected": keyed.connect(second.key_by(lambda n: n % 2, Types.LONG())).process(OfTwo(), pair),
            "broadcast": keyed.connect(second.broadcast(SEEN)).process(OfBroadcast(), pair),
        },
    )
    assert sorted(found["broadcast"]) == [(0, 2), (1, 1), (1, 3)]
    assert sorted(found["connected"]) == [(0, 2), (0, 102), (0, 104), (1, 1), (1, 3)]
