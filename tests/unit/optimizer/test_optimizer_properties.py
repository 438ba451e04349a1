"""What optimized plans have in common, whatever the program."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.optimizer.pipeline import optimize
from penstock.plan.builder import PlanBuilder
from penstock.plan.drawing import to_mermaid, to_svg
from penstock.plan.explain import explain
from penstock.plan.json_form import fingerprint
from penstock.plan.nodes import Chaining, ExchangeKind, Node, SinkNode, SourceNode, StatelessNode
from penstock.plan.plan import Plan
from plans.plan_parts import BROADCAST, HASH, REBALANCE, broadcast, connected, keyed, mapping, sink, source

MAKERS = (mapping, mapping, mapping, keyed, connected, broadcast, sink)


@st.composite
def programs(draw: st.DrawFn) -> Plan:
    """Sources, then operators that read from any earlier ones; every loose end gets a sink."""
    builder = PlanBuilder()
    readable: list[int] = []
    read: set[int] = set()

    def add(node: Node) -> int:
        node_id = builder.add_node(node)
        if not isinstance(node, SinkNode):
            readable.append(node_id)
        return node_id

    def settings_of_node() -> dict[str, object]:
        return {
            "parallelism": draw(st.integers(1, 2)),
            "chaining": draw(st.sampled_from((Chaining.ALWAYS, Chaining.ALWAYS, *Chaining))),
            "slot_sharing_group": draw(st.sampled_from(("default", "default", "default", "own"))),
            "uid": "",
        }

    def connect(node_id: int, input_index: int, exchanges: tuple[object, ...]) -> None:
        for upstream in draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=2)):
            builder.add_edge(upstream, node_id, draw(st.sampled_from(exchanges)), input_index=input_index)
            read.add(upstream)

    for _ in range(draw(st.integers(1, 3))):
        add(source(0, **settings_of_node()))
    for _ in range(draw(st.integers(0, 8))):
        candidates = list(readable)
        node = draw(st.sampled_from(MAKERS))(0, **settings_of_node())
        node_id = add(node)
        connect(node_id, 0, (HASH,) if node.is_keyed else (None, None, HASH, REBALANCE))
        if node.kind == "CoProcess":
            connect(node_id, 1, (None, HASH))
        elif node.kind == "BroadcastProcess":
            connect(node_id, 1, (BROADCAST,))
    for loose in [node_id for node_id in readable if node_id not in read]:
        builder.add_edge(loose, add(sink(0, **settings_of_node())))
    return builder.build("random")


@settings(max_examples=150, deadline=None)
@given(programs())
def test_every_operator_is_in_one_chain_and_every_chain_in_one_stage(plan: Plan) -> None:
    optimized = optimize(plan)
    placed = [node_id for stage in optimized.stages for chain in stage.chains for node_id in chain.nodes]
    assert sorted(placed) == [node.id for node in plan.nodes]
    assert [stage.level for stage in optimized.stages] == list(range(len(optimized.stages)))


@settings(max_examples=150, deadline=None)
@given(programs())
def test_levels_rise_along_exchanges_and_only_as_far_as_they_must(plan: Plan) -> None:
    optimized = optimize(plan)
    for stage in optimized.stages:
        for chain in stage.chains:
            senders = [optimized.chain_of(edge.source).level for edge in optimized.inputs(chain.head)]
            assert stage.level == (max(senders) + 1 if senders else 0)
            assert bool(senders) != isinstance(optimized.node(chain.head), SourceNode)


@settings(max_examples=150, deadline=None)
@given(programs())
def test_chains_hold_what_flink_would_chain(plan: Plan) -> None:
    optimized = optimize(plan)
    for edge in optimized.edges:
        upstream, node = optimized.node(edge.source), optimized.node(edge.target)
        may_chain = (
            edge.exchange.kind is ExchangeKind.FORWARD
            and len(optimized.inputs(node.id)) == 1
            and node.chaining is Chaining.ALWAYS
            and upstream.chaining is not Chaining.NEVER
            and upstream.slot_sharing_group == node.slot_sharing_group
        )
        assert optimized.is_chained(edge) == may_chain
    for chain in optimized.stages[0].chains:
        assert all(isinstance(optimized.node(node_id), StatelessNode | SinkNode) for node_id in chain.nodes[1:])


@settings(max_examples=50, deadline=None)
@given(programs())
def test_a_plan_is_shown_the_same_after_a_journey(plan: Plan) -> None:
    optimized = optimize(plan)
    arrived: Plan = pickle.loads(pickle.dumps(optimized))
    for form in (explain, to_mermaid, to_svg, fingerprint):
        assert form(arrived) == form(optimized)
