"""Broadcast state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
RULE_RECORDS = [("limit", 10), ("factor", 3), ("limit", 40)]


class CountRules(BroadcastProcessFunction[Any, Any, Any]):
    """Every subtask must see every rule."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "record", value

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        state.put(value[0], value[1])
        yield f"subtask {self.subtask}", tuple(sorted(state.items()))


def test_every_subtask_sees_every_broadcast_record_in_order(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3)
    rules = env.from_collection(RULE_RECORDS).broadcast(RULES)
    stream = env.from_sequence(1, 20).connect(rules).process(CountRules())
    growth = [(("limit", 10),), (("factor", 3), ("limit", 10)), (("factor", 3), ("limit", 40))]
    expected = Counter(("record", n) for n in range(1, 21))
    expected += Counter((f"subtask {subtask}", rules) for subtask in range(3) for rules in growth)
    assert Counter(stream.execute_and_collect()) == expected


class ApplyOnceKnown(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Multiplies each amount by the factor; amounts that come before it wait in keyed state."""

    waiting_descriptor = ListStateDescriptor("waiting", Types.LONG())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_list_state(self.waiting_descriptor)
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        factor = ctx.get_broadcast_state(RULES).get("factor")
        self.count.update((self.count.value() or 0) + 1)
        assert ctx.get_current_key() == value[0]
        if factor is None:
            self.waiting.add(value[1])
        else:
            yield value[0], value[1] * factor

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        state.put(value[0], value[1])
        released: list[tuple[str, int]] = []
        if value[0] == "factor":

            def release(key: str, waiting: Any) -> None:
                released.extend((key, amount * value[1]) for amount in waiting.get())
                waiting.clear()

            ctx.apply_to_keyed_state(self.waiting_descriptor, release)
        yield from released


def test_broadcast_state_beside_keyed_state(env: StreamExecutionEnvironment) -> None:
    amounts = [(f"k{n % 4}", n) for n in range(40)]
    rules = env.from_collection(RULE_RECORDS).broadcast(RULES)
    stream = env.from_collection(amounts).key_by(lambda a: a[0]).connect(rules).process(ApplyOnceKnown())
    assert Counter(stream.execute_and_collect()) == Counter((key, amount * 3) for key, amount in amounts)
