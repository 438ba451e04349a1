"""Computes once what is the same for every record."""

from __future__ import annotations

import dataclasses

from penstock.expressions.folding import folded
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import Node
from penstock.plan.plan import Plan


class FoldConstants:
    """Puts values in the place of the parts of expressions that are made of values alone."""

    name = "fold constants"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        nodes: list[Node] = []
        rewrites: list[str] = []
        for node in plan.nodes:
            new = _folded(node)
            nodes.append(new)
            if new is not node:
                rewrites.append(f"{self.name}: [{node.id}] '{node.name}'")
        if not rewrites:
            return plan
        return dataclasses.replace(plan, nodes=tuple(nodes), rewrites=(*plan.rewrites, *rewrites))


def _folded(node: Node) -> Node:
    if not isinstance(node, ExpressionNode):
        return node
    expression = folded(node.expression)
    return node if expression is node.expression else dataclasses.replace(node, expression=expression)
