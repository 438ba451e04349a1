"""Records that a filter behind an exchange would drop are not sent."""

from __future__ import annotations

import dataclasses

from penstock.optimizer.total_expressions import is_total
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import Edge, RecordFunctionKind
from penstock.plan.plan import Plan


class FilterBeforeExchanges:
    """Lets senders apply a filter that heads the chain behind an exchange, also where streams are united.

    The filter stays where it is, and sees the records that it keeps. Watermarks pass as before.
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
    if edge.condition is not None or plan.is_chained(edge) or not isinstance(node, ExpressionNode):
        return edge
    if node.function_kind is not RecordFunctionKind.FILTER or not is_total(node.expression):
        return edge
    return dataclasses.replace(edge, condition=node.expression)
