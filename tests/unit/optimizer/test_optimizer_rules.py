from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from penstock.common.errors import PlanError
from penstock.optimizer.assign_levels import AssignLevels
from penstock.optimizer.chain_operators import ChainOperators
from penstock.optimizer.pipeline import RULES, optimize
from penstock.optimizer.prune_unread import PruneUnread
from penstock.optimizer.reject_unsupported import RejectUnsupported
from penstock.plan.nodes import Chaining, Edge, Exchange, ExchangeKind, Node, RecordFunctionKind
from penstock.plan.plan import Plan
from plans.plan_parts import (
    BROADCAST,
    HASH,
    REBALANCE,
    LineSink,
    broadcast,
    connected,
    keyed,
    mapping,
    plan,
    sink,
    source,
)


def chains(built: Plan) -> list[tuple[int, ...]]:
    layout = ChainOperators().apply(built).layout
    assert layout is not None
    return [chain.nodes for chain in layout.chains]


def levels(built: Plan) -> dict[int, int]:
    optimized = optimize(built)
    return {node.id: optimized.chain_of(node.id).level for node in optimized.nodes}


# pruning


def test_what_no_sink_reads_is_dropped_and_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    nodes = (
        source(1),
        mapping(2),
        sink(3),
        mapping(4, "unread"),
        keyed(5, "unread too"),
        source(6),
        mapping(7),
    )
    edges = (Edge(1, 2), Edge(2, 3), Edge(2, 4), Edge(4, 5, HASH), Edge(6, 7))
    with caplog.at_level(logging.WARNING, "penstock"):
        pruned = PruneUnread().apply(plan(*nodes, *edges))
    assert [node.id for node in pruned.nodes] == [1, 2, 3]
    assert pruned.edges == edges[:2]
    assert len(caplog.messages) == 4
    assert "Map 'unread' (uid 'uid-4', defined at program.py:4: step_4()) reaches no sink" in caplog.messages[0]


def test_a_plan_that_is_read_whole_stays_the_same_object() -> None:
    built = plan(source(1), sink(2), Edge(1, 2))
    assert PruneUnread().apply(built) is built


def test_a_program_without_a_sink_is_told_to_add_one() -> None:
    built = plan(source(1), mapping(2), Edge(1, 2))
    with pytest.raises(PlanError, match=r"(?s)has no sink.*Source 'words' .*program.py:1.*Add a sink"):
        optimize(built)


# rejecting


class LockedSink(LineSink):
    def __init__(self) -> None:
        super().__init__("x")
        self.lock = threading.Lock()


class LockedFunction:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, value: Any, *_: int) -> Any:
        with self.lock:
            return value


UNPICKLABLE = LockedFunction()


@pytest.mark.parametrize(
    ("nodes", "exchange", "role"),
    [
        ([mapping(2, function=UNPICKLABLE), sink(3)], REBALANCE, "function of Map 'upper'"),
        ([mapping(2), sink(3, sink=LockedSink())], REBALANCE, "sink of Sink 'out'"),
        (
            [mapping(2), sink(3)],
            Exchange(ExchangeKind.HASH, key_selector=UNPICKLABLE),
            "key selector of Map 'upper'",
        ),
        (
            [mapping(2), sink(3)],
            Exchange(ExchangeKind.CUSTOM, key_fields=(0,), partitioner=UNPICKLABLE),
            "partitioner of Map 'upper'",
        ),
    ],
)
def test_what_cannot_be_pickled_is_rejected(nodes: list[Node], exchange: Exchange, role: str) -> None:
    built = plan(source(1), *nodes, Edge(1, 2, exchange), Edge(2, 3))
    with pytest.raises(PlanError, match=rf"(?s)the {role} .*program.py:\d.* cannot be sent to the tasks.*lock"):
        optimize(built)


def test_what_can_be_pickled_passes_unchanged() -> None:
    built = plan(source(1), mapping(2, function=lambda value: value), sink(3), Edge(1, 2), Edge(2, 3))
    assert RejectUnsupported().apply(built) is built


def test_what_is_pruned_is_not_rejected() -> None:
    built = plan(source(1), sink(2), mapping(3, function=UNPICKLABLE), Edge(1, 2), Edge(1, 3))
    assert [node.id for node in optimize(built).nodes] == [1, 2]


# chaining


def test_stateless_operators_and_sinks_join_a_sources_chain() -> None:
    process = mapping(3, function_kind=RecordFunctionKind.PROCESS)
    built = plan(source(1), mapping(2), process, sink(4), sink(5), *(Edge(1, 2), Edge(2, 3), Edge(3, 4), Edge(2, 5)))
    assert chains(built) == [(1, 2, 3, 4, 5)]


def test_operators_behind_a_keyed_one_join_its_chain() -> None:
    built = plan(source(1), keyed(2), mapping(3), sink(4), Edge(1, 2, HASH), Edge(2, 3), Edge(3, 4))
    assert chains(built) == [(1,), (2, 3, 4)]


@pytest.mark.parametrize(
    ("upstream", "node", "exchange"),
    [
        (mapping(2), mapping(3), REBALANCE),
        (mapping(2), mapping(3), HASH),
        (mapping(2), mapping(3, chaining=Chaining.HEAD), None),
        (mapping(2), mapping(3, chaining=Chaining.NEVER), None),
        (mapping(2, chaining=Chaining.NEVER), mapping(3), None),
        (mapping(2), mapping(3, slot_sharing_group="own"), None),
    ],
)
def test_what_keeps_two_operators_apart(upstream: Node, node: Node, exchange: Exchange | None) -> None:
    edge = Edge(2, 3, exchange) if exchange else Edge(2, 3)
    built = plan(source(1), upstream, node, Edge(1, 2, REBALANCE), edge)
    assert chains(built) == [(1,), (2,), (3,)]


def test_the_head_of_a_chain_takes_followers() -> None:
    built = plan(source(1), mapping(2, chaining=Chaining.HEAD), mapping(3), Edge(1, 2), Edge(2, 3))
    assert chains(built) == [(1,), (2, 3)]


def test_two_input_edges_keep_an_operator_out_of_both_chains() -> None:
    built = plan(source(1), source(2), mapping(3), Edge(1, 3), Edge(2, 3))
    assert chains(built) == [(1,), (2,), (3,)]
    assert chains(plan(source(1), mapping(3), Edge(1, 3), Edge(1, 3, order=1))) == [(1,), (3,)]


def test_operators_of_two_inputs_head_chains() -> None:
    joined = plan(source(1), connected(2), sink(3), Edge(1, 2), Edge(1, 2, input_index=1), Edge(2, 3))
    assert chains(joined) == [(1,), (2, 3)]
    matched = plan(source(1), broadcast(2), Edge(1, 2), Edge(1, 2, BROADCAST, input_index=1))
    assert chains(matched) == [(1,), (2,)]


class SubtaskNode(Node):
    """A kind of operator that works per subtask and has one input of any exchange."""


def test_a_sources_chain_takes_no_other_kinds_of_operators() -> None:
    node = SubtaskNode(id=2, name="per subtask", uid="uid-2")
    assert chains(plan(source(1), node, Edge(1, 2))) == [(1,), (2,)]
    behind_keys = plan(source(1), keyed(3), node, Edge(1, 3, HASH), Edge(3, 2))
    assert chains(behind_keys) == [(1,), (3, 2)]


# levels


def test_a_level_is_the_longest_path_in_exchanges() -> None:
    nodes = (source(1), keyed(2), keyed(3), connected(4, keyed=True), sink(5))
    edges = (
        Edge(1, 2, HASH),
        Edge(2, 3, HASH),
        Edge(1, 4, HASH),
        Edge(3, 4, HASH, input_index=1),
        Edge(4, 5),
    )
    assert levels(plan(*nodes, *edges)) == {1: 0, 2: 1, 3: 2, 4: 3, 5: 3}


def test_a_union_of_sources_runs_in_stage_1() -> None:
    built = plan(source(1), source(2), mapping(3), sink(4), Edge(1, 3), Edge(2, 3), Edge(3, 4))
    assert levels(built) == {1: 0, 2: 0, 3: 1, 4: 1}


def test_an_operator_in_a_chain_lifts_what_reads_it() -> None:
    nodes = (source(1), keyed(2), mapping(3), keyed(4), sink(5))
    assert levels(plan(*nodes, Edge(1, 2, HASH), Edge(2, 3), Edge(3, 4, HASH), Edge(4, 5))) == {
        1: 0,
        2: 1,
        3: 1,
        4: 2,
        5: 2,
    }


def test_levels_need_chains() -> None:
    with pytest.raises(PlanError, match="chain the operators first"):
        AssignLevels().apply(plan(source(1), sink(2), Edge(1, 2)))


# all rules


def test_rules_run_in_their_order() -> None:
    assert [rule.name for rule in RULES] == [
        "prune what no sink reads",
        "reject what cannot run",
        "trace functions",
        "reduce in columns",
        "fold constants",
        "push filters",
        "chain operators",
        "filter before exchanges",
        "prune columns",
        "pre-aggregate",
        "assign levels",
    ]


def test_optimizing_twice_changes_nothing() -> None:
    once = optimize(plan(source(1), keyed(2), sink(3), Edge(1, 2, HASH), Edge(2, 3)))
    assert optimize(once) == once
