"""What a program that cannot be built is told, and that the user's line is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import ArgumentError, PlanError
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import (
    FilterFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
)
from penstock.datastream.state import ValueStateDescriptor


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        yield str(value)


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None: ...

    def process_element2(self, value: Any, ctx: Any) -> None: ...


class Double(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Yields(MapFunction):
    def map(self, value: int) -> Any:
        yield value


async def asked(value: int) -> int:
    return value


TAG = OutputTag("t", Types.STRING())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.map(None), "map: `func` is None; expected a function of one record or a MapFunction"),
        (lambda s: s.map(3), "map: `func` is 3 (int)"),
        (lambda s: s.map(Double), "write Double(...), not Double"),
        (lambda s: s.map(Yields()), "map: Yields.map has a `yield` in it, and map takes the one result"),
        (lambda s: s.filter(asked), "filter: asked is declared as `async def`, and filter does not wait for it"),
        (lambda s: s.key_by(str).map(Yields().map), "map: Yields.map has a `yield` in it"),
        (lambda s: s.add_sink(Yields().map), "add_sink: Yields.map has a `yield` in it, and add_sink only calls it"),
        (lambda s: s.add_sink(asked), "add_sink: asked is declared as `async def`, and add_sink does not wait for it"),
        (lambda s: s.filter(Double()), "filter: `func`"),
        (lambda s: s.flat_map("x"), "flat_map: `func` is 'x' (str)"),
        (lambda s: s.map(str, output_type="INT"), "map: `output_type` is 'INT' (str); expected a type"),
        (lambda s: s.map(str, output_type=Types.INT), "output_type"),
        (lambda s: s.process(Keyed()), "call `key_by(...)` first"),
        (lambda s: s.process(None), "process: `func` is None"),
        (lambda s: s.key_by(len).process(Plain()), "a keyed stream takes a KeyedProcessFunction"),
        (lambda s: s.key_by(None), "key_by: `key_selector` is None"),
        (lambda s: s.key_by("f7"), "key_by: the records have no field 'f7'; they have f0, f1"),
        (lambda s: s.key_by(2), "key_by: the records have no field 2; they have f0, f1"),
        (lambda s: s.key_by("f0", "f1"), "key_by(['f0', 'f1'])"),
        (lambda s: s.map(lambda r: r).key_by("f0"), "Python objects of no declared type"),
        (lambda s: s.map(lambda r: 1, output_type=Types.INT()).key_by("f0"), "have no fields"),
        (lambda s: s.key_by(0).sum("f9"), "sum: the records have no field 'f9'"),
        (lambda s: s.key_by(0).name("x"), "name: `key_by` is not an operator"),
        (lambda s: s.key_by(0).rebalance(), "partitioned by key; rebalance partitioning would undo it"),
        (lambda s: s.rebalance().uid("x"), "rebalance partitioning is not an operator"),
        (lambda s: s.union(s).name("x"), "a union is not an operator"),
        (lambda s: s.union(None), "union: `stream` is None"),
        (lambda s: s.connect([1]), "connect: `stream` is [1] (list)"),
        (lambda s: s.connect(s).process(Both()), "the connected streams are not keyed"),
        (lambda s: s.connect(s).map(Double()), "map: `func` is"),
        (lambda s: s.connect(s).key_by("f0", "f1").process(Both()), "process: the keys have different types"),
        (lambda s: s.broadcast(ValueStateDescriptor("v", Types.INT())), "expected a MapStateDescriptor"),
        (lambda s: s.partition_custom(None, lambda r: r), "partitioner"),
        (lambda s: s.set_parallelism(1).rebalance().map(str).set_parallelism(0), "`parallelism` is 0 (int)"),
        (lambda s: s.map(str).set_parallelism(True), "`parallelism` is True (bool)"),
        (lambda s: s.map(str).set_max_parallelism(1 << 16), "`max_parallelism` is 65536"),
        (lambda s: s.set_parallelism(2), "'Collection Source' runs as one subtask and cannot have 2"),
        (lambda s: s.map(str).uid(""), "uid: `uid` is '' (str); expected text that is not empty"),
        (lambda s: s.map(str).name(5), "name: `name` is 5 (int)"),
        (lambda s: s.sink_to(print), "sink_to: `sink`"),
        (lambda s: s.add_sink(None), "add_sink: `sink_func` is None"),
        (lambda s: s.map(str).get_side_output(TAG), "'Map' has no side outputs"),
        (lambda s: s.process(Plain()).get_side_output("t"), "expected an OutputTag"),
        (lambda s: s.execute_and_collect(limit=0), "`limit` is 0 (int)"),
    ],
)
def test_a_mistake_is_refused_at_the_users_line(
    env: StreamExecutionEnvironment, build: Callable[[Any], Any], message: str
) -> None:
    stream = env.from_collection([("a", 1)])
    with pytest.raises(PlanError) as refusal:
        build(stream)
    assert message in str(refusal.value)
    assert f"\n  at {__file__}:" in str(refusal.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda e: e.set_parallelism("two"), "set_parallelism: `parallelism` is 'two' (str)"),
        (lambda e: e.set_parallelism(0), "`parallelism` is 0 (int); expected the number of subtasks"),
        (lambda e: e.set_max_parallelism(-5), "`max_parallelism` is -5"),
        (lambda e: e.set_runtime_mode("BATCH"), "expected a RuntimeExecutionMode"),
        (lambda e: e.configure({"a": "b"}), "expected a Configuration"),
        (lambda e: e.from_collection(None), "from_collection: `collection` is None"),
        (lambda e: e.from_collection("abc"), "expected a list of records"),
        (lambda e: e.from_source(print), "from_source: `source`"),
        (lambda e: e.get_plan(), "there is nothing to execute"),
        (lambda e: e.execute(), "there is nothing to execute"),
    ],
)
def test_a_mistake_on_the_environment_is_refused_at_the_users_line(
    env: StreamExecutionEnvironment, build: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(PlanError) as refusal:
        build(env)
    assert message in str(refusal.value)
    assert f"\n  at {__file__}:" in str(refusal.value)


def test_wrong_kinds_of_arguments_are_type_errors_too(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeError):
        env.from_collection([1]).map(None)  # type: ignore[arg-type]
    assert issubclass(ArgumentError, PlanError)


def test_streams_of_two_environments_do_not_mix(env: StreamExecutionEnvironment) -> None:
    other = StreamExecutionEnvironment.get_execution_environment().from_sequence(1, 2)
    stream = env.from_sequence(1, 2)
    for combine in (stream.union, stream.connect):
        with pytest.raises(PlanError, match="one job has one environment"):
            combine(other)


def test_declared_types_must_agree_in_a_union(env: StreamExecutionEnvironment) -> None:
    texts = env.from_collection(["a"], Types.STRING())
    with pytest.raises(PlanError, match=r"different types: .*String.*Long"):
        texts.union(env.from_sequence(1, 2))


def test_one_tag_has_one_type(env: StreamExecutionEnvironment) -> None:
    main = env.from_sequence(1, 2).process(Plain())
    main.get_side_output(TAG)
    with pytest.raises(PlanError, match="the tag 't' has the type String elsewhere"):
        main.get_side_output(OutputTag("t", Types.LONG()))


def test_a_program_without_a_sink_is_refused(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 2)
    with pytest.raises(PlanError, match=r"nothing consumes Source 'Sequence Source'.*from_sequence\(1, 2\)"):
        env.get_plan()


def test_two_operators_with_one_uid_are_refused(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 2).map(str).uid("same").map(str).uid("same").print()
    with pytest.raises(PlanError, match="two operators have the uid 'same'"):
        env.get_plan()


class Unused(FilterFunction):
    def filter(self, value: Any) -> bool:
        return True


def test_forward_between_different_parallelisms_is_refused(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 2).forward().filter(Unused()).set_parallelism(5).print()
    with pytest.raises(PlanError, match="forward partitioning does not allow a change of parallelism"):
        env.get_plan()
