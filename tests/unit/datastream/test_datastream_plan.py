"""What plan a program becomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from penstock.common import Configuration, Row, Types
from penstock.common.misspelt_options import misspelt_options
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import (
    BroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from penstock.datastream.state import MapStateDescriptor
from penstock.plan.nodes import (
    BroadcastProcessNode,
    Chaining,
    CoProcessNode,
    ExchangeKind,
    KeyedProcessNode,
    Node,
    RecordFunctionKind,
    SinkNode,
    SourceNode,
    StatelessNode,
)
from penstock.plan.plan import Plan


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(4)


def node_named(plan: Plan, name: str) -> Any:
    (found,) = [node for node in plan.nodes if node.name == name]
    return found


def exchange_into(plan: Plan, node: Node, input_index: int = 0) -> Any:
    (edge,) = [edge for edge in plan.inputs(node.id) if edge.input_index == input_index]
    return edge.exchange


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        yield str(value)


def test_a_linear_program(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 9).map(lambda n: n).flat_map(lambda n: [n]).filter(bool).process(Plain()).print()
    plan = env.get_plan("linear")
    assert [type(node) for node in plan.topological_order] == [SourceNode, *[StatelessNode] * 4, SinkNode]
    kinds = [node.function_kind for node in plan.topological_order if isinstance(node, StatelessNode)]
    assert kinds == [*list(RecordFunctionKind)[:3], RecordFunctionKind.PROCESS]
    assert [node.name for node in plan.topological_order] == [
        "Sequence Source",
        "Map",
        "FlatMap",
        "Filter",
        "PROCESS",
        "Print to Std. Out",
    ]
    assert {edge.exchange.kind for edge in plan.edges} == {ExchangeKind.FORWARD}
    assert plan.job_name == "linear"


def test_the_name_of_a_job_is_an_option_where_no_other_is_given(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 9).print()
    assert env.get_plan().job_name == "Penstock Job"
    env.configuration.set_string("pipeline.name", "nine numbers")
    assert env.get_plan().job_name == "nine numbers"
    assert env.get_plan("digits").job_name == "digits"
    assert misspelt_options(Configuration().set_string("pipeline.nmae", "digits")) == {"pipeline.nmae": "pipeline.name"}


def test_settings_reach_the_node(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 9).map(lambda n: n)
    stream.name("Named").uid("the-uid").set_parallelism(3).set_max_parallelism(64).set_description("text")
    stream.start_new_chain().slot_sharing_group("own").print().name("Sink").disable_chaining().set_parallelism(2)
    plan = env.get_plan()
    node, sink = node_named(plan, "Named"), node_named(plan, "Sink")
    assert (node.uid, node.uid_is_given, node.parallelism, node.max_parallelism) == ("the-uid", True, 3, 64)
    assert (node.description, node.chaining, node.slot_sharing_group) == ("text", Chaining.HEAD, "own")
    assert (sink.chaining, sink.parallelism, sink.slot_sharing_group) == (Chaining.NEVER, 2, "own")
    assert not sink.uid_is_given


def test_every_node_knows_its_line(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda n: n + 1).print()
    plan = env.get_plan()
    assert {node.call_site.file for node in plan.nodes} == {__file__}
    assert "map(lambda n: n + 1)" in node_named(plan, "Map").call_site.code


def test_parallelism_decides_between_forward_and_rebalance(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda n: n).name("a").map(lambda n: n).name("b").set_parallelism(2).print()
    plan = env.get_plan()
    assert node_named(plan, "Collection Source").parallelism == 1
    assert exchange_into(plan, node_named(plan, "a")).kind is ExchangeKind.REBALANCE
    assert exchange_into(plan, node_named(plan, "b")).kind is ExchangeKind.REBALANCE


def test_parallelism_of_the_environment_counts_when_the_plan_is_made(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 2).print()
    env.set_parallelism(7).set_max_parallelism(256)
    assert {(node.parallelism, node.max_parallelism) for node in env.get_plan().nodes} == {(7, 256)}


@pytest.mark.parametrize("kind", ["rebalance", "rescale", "shuffle", "forward", "broadcast", "global_"])
def test_a_partitioning_is_the_exchange_of_the_next_operator(env: StreamExecutionEnvironment, kind: str) -> None:
    getattr(env.from_sequence(1, 2), kind)().map(lambda n: n).print()
    plan = env.get_plan()
    assert exchange_into(plan, node_named(plan, "Map")).kind.value == kind.rstrip("_")


def test_the_last_partitioning_wins(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 2).shuffle().rebalance().global_().map(lambda n: n).print()
    plan = env.get_plan()
    assert exchange_into(plan, node_named(plan, "Map")).kind is ExchangeKind.GLOBAL


def test_a_custom_partitioning_has_key_and_partitioner(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 2).partition_custom(lambda key, n: key % n, lambda r: r + 1).map(lambda n: n).print()
    plan = env.get_plan()
    exchange = exchange_into(plan, node_named(plan, "Map"))
    assert exchange.kind is ExchangeKind.CUSTOM
    assert exchange.partitioner(exchange.key_selector(6), 4) == 3


class Pair(NamedTuple):
    name: str
    amount: int


@dataclass
class Item:
    name: str
    amount: int


NAMED_ROW = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.LONG()])


@pytest.mark.parametrize(
    ("record", "type_info", "key", "fields", "value"),
    [
        (Row("a", 1), NAMED_ROW, "name", ("name",), "a"),
        (Row(amount=1, name="a"), NAMED_ROW, ["amount", "name"], ("amount", "name"), (1, "a")),
        (("a", 1), None, 1, ("f1",), 1),
        (("a", 1), None, ("f1", "f0"), ("f1", "f0"), (1, "a")),
        (Pair("a", 1), None, "amount", ("amount",), 1),
        (Item("a", 1), None, "name", ("name",), "a"),
        (Item("a", 1), None, ["name", "amount"], ("name", "amount"), ("a", 1)),
        ({"name": "a", "x": "b"}, None, "name", (), "a"),
    ],
)
def test_keys_by_field_go_to_the_columns(
    env: StreamExecutionEnvironment, record: Any, type_info: Any, key: Any, fields: tuple[str, ...], value: Any
) -> None:
    env.from_collection([record], type_info).key_by(key).process(Keyed()).print()
    plan = env.get_plan()
    node = node_named(plan, "KEYED PROCESS")
    exchange = exchange_into(plan, node)
    assert isinstance(node, KeyedProcessNode)
    assert (exchange.kind, exchange.key_fields) == (ExchangeKind.HASH, fields)
    assert exchange.key_selector(record) == value


def test_a_key_by_fields_has_their_type(env: StreamExecutionEnvironment) -> None:
    env.from_collection([("a", 1)]).key_by(["f1", "f0"]).process(Keyed()).print()
    plan = env.get_plan()
    assert exchange_into(plan, node_named(plan, "KEYED PROCESS")).key_type == Types.TUPLE(
        [Types.LONG(), Types.STRING()]
    )


def test_a_lambda_is_the_key_selector(env: StreamExecutionEnvironment) -> None:
    env.from_collection([("a", 1)]).key_by(lambda p: p[1], Types.LONG()).process(Keyed()).print()
    plan = env.get_plan()
    exchange = exchange_into(plan, node_named(plan, "KEYED PROCESS"))
    assert (exchange.key_fields, exchange.key_type, exchange.key_selector(("a", 5))) == ((), Types.LONG(), 5)


def test_a_union_feeds_one_input_from_many(env: StreamExecutionEnvironment) -> None:
    first, second = env.from_sequence(1, 2), env.from_sequence(3, 4)
    first.union(second.rebalance(), first).map(lambda n: n).print()
    plan = env.get_plan()
    edges = plan.inputs(node_named(plan, "Map").id)
    kinds = [edge.exchange.kind for edge in edges]
    assert sorted(kind.value for kind in kinds) == ["forward", "forward", "rebalance"]
    assert {edge.input_index for edge in edges} == {0}


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[int]:
        yield 1

    def process_element2(self, value: Any, ctx: Any) -> Iterator[int]:
        yield 2


def test_connected_keyed_streams_are_a_keyed_co_process(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(1, 2)
    numbers.connect(numbers).key_by(lambda n: n, lambda n: -n).process(Both()).print()
    plan = env.get_plan()
    node = node_named(plan, "Keyed Co-Process")
    assert isinstance(node, CoProcessNode)
    assert node.keyed
    assert node.output_type == Types.LONG()
    assert exchange_into(plan, node, 0).key_selector(4) == 4
    assert exchange_into(plan, node, 1).key_selector(4) == -4


class WithRules(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        return None


def test_a_broadcast_stream_is_input_one(env: StreamExecutionEnvironment) -> None:
    rules = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
    env.from_sequence(1, 2).connect(env.from_collection(["r"]).broadcast(rules)).process(WithRules()).print()
    plan = env.get_plan()
    node = node_named(plan, "Co-Process-Broadcast")
    assert isinstance(node, BroadcastProcessNode)
    assert (node.keyed, node.state_descriptors) == (False, (rules,))
    assert exchange_into(plan, node, 1).kind is ExchangeKind.BROADCAST


def test_side_outputs_are_declared_with_their_type(env: StreamExecutionEnvironment) -> None:
    late = OutputTag("late", Types.STRING())
    main = env.from_sequence(1, 2).process(Plain())
    main.get_side_output(late).map(lambda s: s).print()
    plan = env.get_plan()
    assert node_named(plan, "PROCESS").side_outputs == {"late": Types.STRING()}
    (edge,) = plan.inputs(node_named(plan, "Map").id)
    assert edge.side_output == "late"


def make_pair(n: int) -> Pair:
    return Pair("x", n)


def test_types_are_declared_else_annotated_else_pickled(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(1, 2)
    assert numbers.get_type() == Types.LONG()
    assert numbers.map(make_pair, output_type=Types.STRING()).get_type() == Types.STRING()
    assert numbers.map(make_pair).get_type().get_field_names() == ["name", "amount"]  # type: ignore[attr-defined]
    assert numbers.map(lambda n: n).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert numbers.process(Plain()).get_type() == Types.STRING()
    assert numbers.map(lambda n: n, output_type=[Types.INT()]).get_type() == Types.ROW([Types.INT()])
    assert numbers.map(lambda n: n, output_type=int).get_type() == Types.LONG()
    assert numbers.filter(bool).get_type() == Types.LONG()


def test_a_union_of_found_out_types_is_pickled(env: StreamExecutionEnvironment) -> None:
    assert env.from_collection([1]).union(env.from_collection(["a"])).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert env.from_collection([1]).union(env.from_collection([2])).get_type() == Types.LONG()


def test_slot_sharing_groups_are_inherited_where_all_inputs_agree(env: StreamExecutionEnvironment) -> None:
    left = env.from_sequence(1, 2).slot_sharing_group("left")
    left.map(lambda n: n).name("one").print()
    left.union(env.from_sequence(1, 2)).map(lambda n: n).name("two").print()
    plan = env.get_plan()
    assert node_named(plan, "one").slot_sharing_group == "left"
    assert node_named(plan, "two").slot_sharing_group == "default"


def test_a_long_program_makes_a_plan(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 2)
    for _ in range(2_000):
        stream = stream.map(lambda n: n)
    stream.print()
    assert len(env.get_plan().nodes) == 2_002


def test_repr_says_type_and_origin(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(1, 2)
    assert repr(numbers) == "<DataStream of Long from 'Sequence Source'>"
    assert repr(numbers.key_by(lambda n: n)) == "<KeyedStream of Long from 'Sequence Source'>"
    assert "Print to Std. Out" in repr(numbers.print())
