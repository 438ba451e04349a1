"""Records that a filter behind an exchange would drop are not sent."""

from __future__ import annotations

import dataclasses

from penstock.optimizer.certain_conditions import certain_condition, may_fail
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import Edge, Node
from penstock.plan.plan import Plan
from penstock.plan.traced_node import TracedNode


class FilterBeforeExchanges:
    """Lets senders apply a filter that heads the chain behind an exchange, also where streams are united.

    The filter stays where it is, and sees the records that it keeps. Watermarks pass as before. A key or a partitioner
    that may fail sees all records: those that are not sent would no longer fail.
    """

    name = "filter before exchanges"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        edges = [_filtered(plan, edge) for edge in plan.edges]
        targets = {new.target for new, old in zip(edges, plan.edges, strict=True) if new is not old}
        if not targets:
            return plan
        rewrites = [
            f"{self.name}: records for [{node.id}] '{node.name}'"
            for node in plan.topological_order
            if node.id in targets
        ]
        return dataclasses.replace(plan, edges=tuple(edges), rewrites=(*plan.rewrites, *rewrites))


def _filtered(plan: Plan, edge: Edge) -> Edge:
    node = plan.node(edge.target)
    if edge.condition is not None or plan.is_chained(edge) or may_fail(edge.exchange, plan.record_type(edge)):
        return edge
    if not _has_columns(plan, edge, node):
        return edge
    condition = certain_condition(node)
    return edge if condition is None else dataclasses.replace(edge, condition=condition)


def _has_columns(plan: Plan, edge: Edge, node: Node) -> bool:
    """Whether what is sent is declared to be what the filter reads."""
    if not isinstance(node, ExpressionNode | TracedNode):
        return False
    sent = plan.record_type(edge)
    return sent is not None and not sent.is_pickled and sent.exact_key() == node.input_type.exact_key()
