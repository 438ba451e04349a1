from __future__ import annotations

import dataclasses

import pytest

from penstock.common.call_site import UNKNOWN_CALL_SITE
from penstock.common.errors import PlanError
from penstock.plan.builder import PlanBuilder
from penstock.plan.nodes import FORWARD, ExchangeKind, Node
from plans.plan_parts import HASH, keyed, mapping, sink, source


def unplaced(node: Node) -> Node:
    """A node as a front-end gives it: without id and uid."""
    return dataclasses.replace(node, id=-1, uid="")


def counting_builder() -> PlanBuilder:
    builder = PlanBuilder()
    for node in (source(0), keyed(0), sink(0)):
        builder.add_node(unplaced(node))
    builder.add_edge(1, 2, HASH)
    builder.add_edge(2, 3)
    return builder


def test_ids_follow_the_order_of_adding() -> None:
    plan = counting_builder().build("job")
    assert [(node.id, node.kind) for node in plan.nodes] == [(1, "Source"), (2, "KeyedProcess"), (3, "Sink")]
    assert plan.job_name == "job"


def test_a_given_uid_stays_and_a_missing_one_is_derived() -> None:
    builder = counting_builder()
    builder.replace(2, uid="my-count")
    plan = builder.build("job")
    assert (plan.node(2).uid, plan.node(2).uid_is_given) == ("my-count", True)
    assert not plan.node(1).uid_is_given
    assert len(plan.node(1).uid) == 32
    assert int(plan.node(1).uid, 16) > 0


def test_what_is_set_after_the_fact_is_in_the_plan() -> None:
    builder = counting_builder()
    changed = builder.replace(2, name="words", parallelism=3)
    assert changed == builder.node(2)
    assert (builder.build("job").node(2).name, builder.build("job").node(2).parallelism) == ("words", 3)


def test_the_id_cannot_be_replaced() -> None:
    with pytest.raises(PlanError, match="id of an operator cannot change"):
        counting_builder().replace(2, id=7)


@pytest.mark.parametrize(("parallelism", "expected"), [(1, ExchangeKind.FORWARD), (4, ExchangeKind.REBALANCE)])
def test_an_open_edge_is_forward_or_rebalance_by_parallelism(parallelism: int, expected: ExchangeKind) -> None:
    builder = counting_builder()
    builder.replace(3, parallelism=parallelism)
    assert builder.build("job").inputs(3)[0].exchange.kind is expected


def test_an_explicit_forward_edge_stays_forward() -> None:
    builder = PlanBuilder()
    builder.add_node(unplaced(source(1)))
    builder.add_node(unplaced(sink(2, parallelism=2)))
    builder.add_edge(1, 2, FORWARD)
    with pytest.raises(PlanError, match="forward partitioning does not allow"):
        builder.build("job")


def test_edges_between_the_same_nodes_are_numbered() -> None:
    builder = counting_builder()
    builder.add_edge(2, 3)
    assert [edge.order for edge in builder.build("job").inputs(3)] == [0, 1]


def test_max_parallelism_grows_with_parallelism_unless_it_is_given() -> None:
    builder = counting_builder()
    builder.replace(1, parallelism=100)
    builder.replace(2, parallelism=100, max_parallelism=128)
    given = builder.add_node(unplaced(sink(0, parallelism=2, max_parallelism=64)))
    builder.add_edge(2, given)
    plan = builder.build("job")
    assert [node.max_parallelism for node in plan.nodes] == [256, 128, 128, 64]


def test_building_again_after_a_change_leaves_the_first_plan_alone() -> None:
    builder = counting_builder()
    first = builder.build("job")
    extra = builder.add_node(unplaced(sink(0)))
    builder.add_edge(2, extra)
    assert len(first.nodes) == 3
    assert len(builder.build("job").nodes) == 4


def test_a_node_without_a_call_site_gets_the_callers() -> None:
    builder = PlanBuilder()
    node_id = builder.add_node(dataclasses.replace(unplaced(mapping(1)), call_site=UNKNOWN_CALL_SITE))
    assert builder.node(node_id).call_site.file == __file__
    assert "builder.add_node" in builder.node(node_id).call_site.code


def test_an_edge_to_a_node_that_was_never_added_is_an_error() -> None:
    builder = counting_builder()
    builder.add_edge(2, 9)
    with pytest.raises(PlanError, match="names operator 9, which is not in the plan"):
        builder.build("job")
