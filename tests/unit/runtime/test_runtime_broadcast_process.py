from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    OutputTag,
    RuntimeContext,
)
from penstock.runtime import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from unit.runtime.operator_harness import ANY, Harness

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
COUNT = ValueStateDescriptor("count", Types.LONG())
OVER = OutputTag("over")


def first(record: tuple[Any, ...]) -> Any:
    return record[0]


class Limits(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        limit = ctx.get_broadcast_state(LIMITS).get(value[0])
        if limit is not None and value[1] > limit:
            yield OVER, value
        else:
            yield value, limit, ctx.timestamp(), ctx.current_watermark(), ctx.current_processing_time()

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> list[Any]:
        ctx.get_broadcast_state(LIMITS).put(*value)
        return [("limit", value)]


@pytest.mark.parametrize("restarts", [False, True])
def test_what_is_broadcast_helps_with_what_comes_later(restarts: bool) -> None:
    harness = Harness(lambda: BroadcastProcessOperator(Limits(), ANY, {"over": ANY}), restarts=restarts)
    harness.process([("a", 5)], timestamps=[1])
    harness.process([("a", 3)], on=1)
    harness.watermark(9)
    harness.process([("a", 5), ("a", 2)], timestamps=[10, 11])
    assert harness.values("over") == [("a", 5)]
    minimum = -(1 << 63)
    assert harness.values() == [
        (("a", 5), None, 1, minimum, 1_000),
        ("limit", ("a", 3)),
        (("a", 2), 3, 11, 9, 1_000),
    ]


def test_the_other_side_cannot_write_broadcast_state() -> None:
    class Cheat(Limits):
        def process_element(self, value: tuple[str, int], ctx: Any) -> list[Any]:
            return [ctx.get_broadcast_state(LIMITS).put("a", 1)]

    harness = Harness(lambda: BroadcastProcessOperator(Cheat(), ANY))
    with pytest.raises(UserFunctionError) as failure:
        harness.process([("a", 5)])
    assert failure.value.report.record == "('a', 5)"


class Quota(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Counts per key up to a broadcast limit; a broadcast reset visits all keys; timers tell the count."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        limit = ctx.get_broadcast_state(LIMITS).get("all") or 0
        count = min(limit, (self.count.value() or 0) + value[1])
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(50)
        yield ctx.get_current_key(), count

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(LIMITS).put(*value)
        visited: list[Any] = []

        def cap(key: Any, state: Any) -> None:
            visited.append((key, state.value()))
            state.update(min(state.value(), value[1]))

        ctx.apply_to_keyed_state(COUNT, cap)
        yield sorted(visited)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        limit = ctx.get_broadcast_state(LIMITS).get("all")
        yield ctx.get_current_key(), self.count.value(), limit, ctx.time_domain().name


@pytest.mark.parametrize("restarts", [False, True])
def test_a_keyed_stream_has_keyed_state_and_timers_beside_broadcast_state(restarts: bool) -> None:
    harness = Harness(lambda: KeyedBroadcastProcessOperator(Quota(), ANY), restarts=restarts)
    harness.process([("all", 10)], on=1)
    harness.process([("a", 3), ("b", 30), ("a", 4)], key=first, timestamps=[1, 2, 3])
    assert harness.values() == [[], ("a", 3), ("b", 10), ("a", 7)]
    harness.process([("all", 8)], on=1)
    assert harness.values() == [[("a", 7), ("b", 10)]]
    harness.watermark(50)
    assert sorted(harness.taken()) == [(("a", 7, 8, "EVENT_TIME"), 50), (("b", 8, 8, "EVENT_TIME"), 50)]


def test_the_broadcast_side_has_no_current_key() -> None:
    class Cheat(Quota):
        def process_broadcast_element(self, value: Any, ctx: Any) -> list[Any]:
            return [self.count.value()]

    harness = Harness(lambda: KeyedBroadcastProcessOperator(Cheat(), ANY))
    harness.process([("a", 3)], key=first)
    with pytest.raises(UserFunctionError) as failure:
        harness.process([("all", 10)], on=1)
    assert failure.value.report.error_type == "StateError"
