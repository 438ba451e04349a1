from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
)
from penstock.runtime import CoProcessOperator, KeyedCoProcessOperator
from penstock.state.descriptors import ValueStateDescriptor
from unit.runtime.operator_harness import ANY, Harness


def first(record: tuple[Any, ...]) -> Any:
    return record[0]


class Enrich(KeyedCoProcessFunction):
    """Payments (first stream) wait for the account's name (second stream), at most ten milliseconds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.waiting = runtime_context.get_state(ValueStateDescriptor("waiting", Types.LONG()))

    def process_element1(self, value: tuple[int, int], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        if self.name.value() is not None:
            yield self.name.value(), value[1]
        else:
            self.waiting.update(value[1])
            ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 10)

    def process_element2(self, value: tuple[int, str], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.name.update(value[1])
        if self.waiting.value() is not None:
            yield value[1], self.waiting.value()
            self.waiting.clear()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        if self.waiting.value() is not None:
            yield f"account {ctx.get_current_key()}", self.waiting.value()


@pytest.mark.parametrize("restarts", [False, True])
def test_two_keyed_streams_share_state_and_timers(restarts: bool) -> None:
    harness = Harness(lambda: KeyedCoProcessOperator(Enrich(), ANY), restarts=restarts)
    harness.process([(1, 100), (2, 200)], key=first, timestamps=[5, 6], on=0)
    harness.process([(1, "Ada")], key=first, timestamps=[7], on=1)
    harness.process([(1, 300)], key=first, timestamps=[8], on=0)
    harness.watermark(20)
    assert harness.taken() == [(("Ada", 100), 7), (("Ada", 300), 8), (("account 2", 200), 16)]


def test_two_streams_without_keys() -> None:
    class Label(CoProcessFunction):
        def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> list[Any]:
            return [("first", value, ctx.timestamp())]

        def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> list[Any]:
            return [("second", value, ctx.timer_service().current_watermark())]

    harness = Harness(lambda: CoProcessOperator(Label(), ANY))
    harness.watermark(3)
    harness.process([1], timestamps=[9])
    harness.process([2], on=1)
    assert harness.taken() == [(("first", 1, 9), 9), (("second", 2, 3), None)]


class Rules(CoMapFunction):
    def map1(self, value: int) -> int | None:
        return value * 2 if value > 0 else None

    def map2(self, value: str) -> str:
        return value.upper()


def test_co_map_drops_none() -> None:
    harness = Harness(lambda: CoProcessOperator(Rules(), ANY))
    harness.process([1, -1, 2])
    harness.process(["a"], on=1)
    assert harness.values() == [2, 4, "A"]


@pytest.mark.parametrize("restarts", [False, True])
def test_co_flat_map_with_keys_has_state(restarts: bool) -> None:
    class Gate(CoFlatMapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.is_open = runtime_context.get_state(ValueStateDescriptor("open", Types.BOOLEAN()))

        def flat_map1(self, value: tuple[str, int]) -> Iterator[Any]:
            if self.is_open.value():
                yield value

        def flat_map2(self, value: tuple[str, bool]) -> None:
            self.is_open.update(value[1])

    harness = Harness(lambda: KeyedCoProcessOperator(Gate(), ANY), restarts=restarts)
    harness.process([("a", True)], key=first, on=1)
    harness.process([("a", 1), ("b", 2)], key=first, on=0)
    assert harness.values() == [("a", 1)]


def test_a_failure_names_the_record() -> None:
    harness = Harness(lambda: CoProcessOperator(Rules(), ANY))
    with pytest.raises(UserFunctionError) as failure:
        harness.process(["a", 5], on=1)
    assert failure.value.report.record == "5"
