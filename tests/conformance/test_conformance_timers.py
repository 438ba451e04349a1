"""Processing-time timers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor

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
