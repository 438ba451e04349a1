"""Functions that save state of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.functions import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.functions.keyed_adapters import KeyedMapAdapter
from penstock.runtime.broadcast_process import BroadcastProcessOperator
from penstock.runtime.co_process import CoProcessOperator
from penstock.runtime.keyed_process import KeyedProcessOperator
from penstock.runtime.operator import Operator
from penstock.runtime.stateless import FilterOperator, FlatMapOperator, MapOperator, ProcessOperator
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from unit.runtime.operator_harness import ANY, Harness


class Counting(CheckpointedFunction):
    """Counts what comes, in memory; saves the count at the end of every epoch."""

    mode = "get_list_state"

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved = getattr(store, self.mode)(ListStateDescriptor("count", Types.LONG()))
        self.count = sum(self.saved.get())
        self.log = [("restored", context.is_restored(), context.get_restored_checkpoint_id())]

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([self.count])
        self.log.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))

    def next(self) -> int:
        self.count += 1
        return self.count


class CountingMap(Counting, MapFunction):
    def map(self, value: Any) -> int:
        return self.next()


class CountingUnionMap(CountingMap):
    mode = "get_union_list_state"


class CountingFlatMap(Counting, FlatMapFunction):
    def flat_map(self, value: Any) -> list[int]:
        return [self.next()]


class KeepingOdd(Counting, FilterFunction):
    def filter(self, value: Any) -> bool:
        return self.next() % 2 == 1


class CountingProcess(Counting, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[int]:
        yield self.next()


class CountingKeyed(Counting, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[int]:
        yield self.next()


class CountingBoth(Counting, CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[int]:
        yield self.next()

    def process_element2(self, value: Any, ctx: Any) -> Iterator[int]:
        yield self.next()


class CountingBroadcast(Counting, BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterator[int]:
        yield self.next()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[int]:
        yield self.next()


OPERATORS: dict[str, Callable[[], Operator]] = {
    "map": lambda: MapOperator(CountingMap(), ANY),
    "union": lambda: MapOperator(CountingUnionMap(), ANY),
    "flat_map": lambda: FlatMapOperator(CountingFlatMap(), ANY),
    "process": lambda: ProcessOperator(CountingProcess(), ANY),
    "keyed": lambda: KeyedProcessOperator(CountingKeyed(), ANY),
    "keyed-map": lambda: KeyedProcessOperator(KeyedMapAdapter(CountingMap()), ANY),
    "co-process": lambda: CoProcessOperator(CountingBoth(), ANY),
    "broadcast": lambda: BroadcastProcessOperator(CountingBroadcast(), ANY),
}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_function_of_any_operator_goes_on_where_it_was(operator: str, restarts: bool) -> None:
    harness = Harness(OPERATORS[operator], restarts=restarts)
    for _ in range(3):
        harness.process(["a", "b"], key=lambda value: value)
    assert harness.values() == [1, 2, 3, 4, 5, 6]
    assert harness.operator.has_checkpointed_function


@pytest.mark.parametrize("restarts", [False, True])
def test_a_filter_has_it_too(restarts: bool) -> None:
    harness = Harness(lambda: FilterOperator(KeepingOdd(), ANY), restarts=restarts)
    for value in "abcde":
        harness.process([value])
    assert harness.values() == ["a", "c", "e"]


def test_contexts_say_what_the_function_goes_on_from() -> None:
    functions: list[CountingMap] = []

    def make() -> MapOperator:
        functions.append(CountingMap())
        return MapOperator(functions[-1], ANY)

    harness = Harness(make)
    harness.end_epoch()
    harness.restart()
    assert functions[0].log == [("restored", False, None), ("snapshot", 1, 1_000), ("snapshot", 2, 1_000)]
    assert functions[1].log == [("restored", True, 2)]


def test_an_unchanged_list_is_not_written_again() -> None:
    harness = Harness(OPERATORS["map"])
    harness.process(["a"])
    harness.end_epoch()
    harness.operator.snapshot_function()
    assert len(harness.store.changes()) == 0
    harness.process(["a"])
    harness.operator.snapshot_function()
    assert len(harness.store.changes()) == 1


def test_it_is_initialized_before_it_is_opened_and_has_keyed_state() -> None:
    class Both(KeyedProcessFunction, CheckpointedFunction):
        def initialize_state(self, context: FunctionInitializationContext) -> None:
            self.steps = ["initialize"]
            self.total = context.get_keyed_state_store().get_state(ValueStateDescriptor("total", Types.LONG()))

        def open(self, runtime_context: RuntimeContext) -> None:
            self.steps.append("open")

        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            pass

        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            self.total.update((self.total.value() or 0) + value)
            yield self.steps, self.total.value()

    harness = Harness(lambda: KeyedProcessOperator(Both(), ANY), restarts=True)
    harness.process([5], key=str)
    harness.process([5], key=str)
    assert harness.values() == [(["initialize", "open"], 5), (["initialize", "open"], 10)]


class Rules(BroadcastProcessFunction[Any, Any, Any], CheckpointedFunction):
    """Its broadcast state has something from the beginning."""

    descriptor = MapStateDescriptor("rules")

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        rules = context.get_operator_state_store().get_broadcast_state(self.descriptor)
        if not context.is_restored():
            rules.put("default", 1)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield list(ctx.get_broadcast_state(self.descriptor).items())

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.get_broadcast_state(self.descriptor).put(*value)


@pytest.mark.parametrize("restarts", [False, True])
def test_broadcast_state_is_the_one_of_the_contexts(restarts: bool) -> None:
    harness = Harness(lambda: BroadcastProcessOperator(Rules(), ANY), restarts=restarts)
    harness.operator.drop_caches()
    harness.process(["x"])
    harness.process([("more", 2)], on=1)
    harness.process(["x"])
    assert harness.values() == [[("default", 1)], [("more", 2), ("default", 1)]]


@pytest.mark.parametrize("method", ["initialize_state", "snapshot_state"])
def test_failures_name_the_operator(method: str) -> None:
    class Failing(CountingMap):
        pass

    def fail(self: Any, context: Any) -> None:
        raise RuntimeError("no disk")

    setattr(Failing, method, fail)
    with pytest.raises(UserFunctionError, match="no disk") as failure:
        Harness(lambda: MapOperator(Failing(), ANY)).end_epoch()
    assert failure.value.report.operator == "Sessions"


def test_keyed_state_needs_a_key() -> None:
    class Keyless(CountingMap):
        def initialize_state(self, context: FunctionInitializationContext) -> None:
            context.get_keyed_state_store().get_state(ValueStateDescriptor("x"))

    with pytest.raises(UserFunctionError, match="its input is not keyed"):
        Harness(lambda: MapOperator(Keyless(), ANY))
