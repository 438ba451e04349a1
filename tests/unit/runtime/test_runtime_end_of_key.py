"""The end of a key in batch execution, operator by operator: timers fire, state goes, event time begins anew."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import UserFunctionError
from penstock.functions import KeyedBroadcastProcessFunction, KeyedProcessFunction
from penstock.runtime.broadcast_process import KeyedBroadcastProcessOperator
from penstock.runtime.keyed_process import KeyedProcessOperator
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor
from unit.runtime.operator_harness import ANY, Harness


class Remember(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        time = ctx.timer_service()
        self.seen.add(value)
        time.register_processing_time_timer(10)
        time.register_event_time_timer(value)
        yield time.current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        time = ctx.timer_service()
        time.register_event_time_timer(timestamp + 1)
        time.register_processing_time_timer(timestamp + 1)
        yield timestamp, ctx.get_current_key(), self.seen.get(), time.current_watermark()


@pytest.fixture
def harness() -> Harness:
    return batch_harness(lambda: KeyedProcessOperator(Remember(), ANY))


def batch_harness(make_operator: Any) -> Harness:
    made = Harness(make_operator)
    made.context.batch = True
    return made


def test_event_time_timers_fire_in_order_then_those_of_processing_time(harness):
    harness.process([7, 3], key=lambda _: "a")
    assert harness.values() == [MIN_WATERMARK, MIN_WATERMARK]
    harness.operator.end_key()
    seen = [7, 3]
    assert harness.taken() == [
        ((3, "a", seen, MAX_WATERMARK), 3),
        ((7, "a", seen, MAX_WATERMARK), 7),
        ((10, "a", seen, MAX_WATERMARK), None),
    ]


def test_the_next_key_finds_nothing_of_the_last(harness):
    harness.process([7], key=lambda _: "a")
    harness.operator.end_key()
    harness.values()
    harness.process([1], key=lambda _: "b")
    assert harness.values() == [MIN_WATERMARK]
    harness.operator.end_key()
    assert [result[:3] for result in harness.values()] == [(1, "b", [1]), (10, "b", [1])]
    harness.operator.end_epoch()
    catalogue = b"\x00cat"
    assert [key for key, _ in harness.store.changes() if catalogue not in key] == []


class FailingTimer(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(MAX_WATERMARK)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        raise ValueError("no")


def test_a_timer_that_fails_at_the_end_of_a_key_is_reported_with_that_key():
    harness = batch_harness(lambda: KeyedProcessOperator(FailingTimer(), ANY))
    harness.process([1], key=lambda _: "a")
    with pytest.raises(UserFunctionError, match="event-time timer") as failure:
        harness.operator.end_key()
    assert failure.value.report.key == "'a'"


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class CountUnderRules(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.seen.add(value)
        yield self.seen.get(), ctx.get_broadcast_state(RULES).get("limit")

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("limit", value)


def test_broadcast_state_stays_when_a_key_ends():
    harness = batch_harness(lambda: KeyedBroadcastProcessOperator(CountUnderRules(), ANY))
    harness.process([9], on=1)
    for key in ("a", "b"):
        harness.process([1, 2], key=lambda _, key=key: key)
        harness.operator.end_key()
    assert harness.values() == [([1], 9), ([1, 2], 9)] * 2
