"""Puts operators that can hand records on as they are into one chain."""

from __future__ import annotations

import dataclasses

from penstock.functions.checkpointed import checkpointed_part
from penstock.plan.batch_nodes import MapBatchesNode
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.layout import Chain, Layout
from penstock.plan.nodes import Chaining, Edge, ExchangeKind, Node, SinkNode, SourceNode, StatelessNode
from penstock.plan.plan import Plan

_WITHOUT_STATE = (StatelessNode, ExpressionNode, MapBatchesNode, SinkNode)


class ChainOperators:
    """Joins an operator to the chain of the one it reads from, where nothing speaks against it.

    A chain runs in one stage and passes records on without serialising them. A forward edge that stays
    outside a chain is an exchange from subtask i to subtask i; from a source's chain, whose senders are
    splits, it goes to subtask (split number mod parallelism).
    """

    name = "chain operators"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        members: dict[int, list[int]] = {}
        head_of: dict[int, int] = {}
        for node in plan.topological_order:
            edge = _chaining_edge(plan, node, head_of)
            head = node.id if edge is None else head_of[edge.source]
            head_of[node.id] = head
            members.setdefault(head, []).append(node.id)
        chains = tuple(Chain(number, tuple(nodes)) for number, nodes in enumerate(members.values()))
        return dataclasses.replace(plan, layout=Layout(chains))


def _chaining_edge(plan: Plan, node: Node, head_of: dict[int, int]) -> Edge | None:
    """The edge that joins a node to the chain of its input; None where the node heads a chain."""
    inputs = plan.inputs(node.id)
    if len(inputs) != 1 or node.chaining is not Chaining.ALWAYS:
        return None
    (edge,) = inputs
    upstream = plan.node(edge.source)
    head = plan.node(head_of[upstream.id])
    # A source's chain runs per split, not per subtask: state and timers of a subtask have no place in it.
    runs_per_split = isinstance(head, SourceNode)
    joins = (
        edge.exchange.kind is ExchangeKind.FORWARD
        and upstream.chaining is not Chaining.NEVER
        and upstream.parallelism == node.parallelism
        and upstream.slot_sharing_group == node.slot_sharing_group
        and (not runs_per_split or (isinstance(node, _WITHOUT_STATE) and not _has_operator_state(node)))
    )
    return edge if joins else None


def _has_operator_state(node: Node) -> bool:
    return any(checkpointed_part(getattr(node, name, None)) is not None for name in ("function", "sink"))
