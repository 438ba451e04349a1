"""Aggregates records before they cross the exchange to their windows."""

from __future__ import annotations

import dataclasses

from penstock.optimizer.total_expressions import is_total
from penstock.plan.nodes import Edge, ExchangeKind
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.windows.assigner import AlignedWindowAssigner
from penstock.windows.definition import WindowDefinition


class PreAggregate:
    """Lets senders combine the records of each key and pane, for windows that are computed as columns.

    They do so where there are many records for a key and a pane, which they see when they have them; a key with most of
    the records is then no more work for its subtask than any other. Records that come too late are found where they
    arrive, so it needs windows whose late records nobody reads; and aggregates that cannot fail, for a record
    that is late fails nothing.
    """

    name = "pre-aggregate"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        combined = [edge for edge in plan.edges if _can_be_combined(plan, edge)]
        if not combined:
            return plan
        targets = {edge.target for edge in combined}
        return dataclasses.replace(
            plan,
            edges=tuple(
                dataclasses.replace(edge, is_combined=True) if edge.target in targets else edge for edge in plan.edges
            ),
            rewrites=(
                *plan.rewrites,
                *(f"{self.name}: [{node.id}] '{node.name}'" for node in plan.topological_order if node.id in targets),
            ),
        )


def _can_be_combined(plan: Plan, edge: Edge) -> bool:
    node = plan.node(edge.target)
    return (
        isinstance(node, WindowNode)
        and not edge.is_combined
        and edge.exchange.kind is ExchangeKind.HASH
        and not node.side_outputs
        and can_be_combined(node.window)
    )


def can_be_combined(window: WindowDefinition) -> bool:
    """Whether senders can do a part of the work of these windows."""
    return (
        window.is_columnar
        and isinstance(window.assigner, AlignedWindowAssigner)
        and type(window.assigner).__module__.startswith("penstock.windows.")
        and _cannot_fail(window)
    )


def _cannot_fail(window: WindowDefinition) -> bool:
    if window.reduction is not None:
        return not (window.reduction.is_ordered or window.reduction.is_folded)
    if window.accumulation is not None:
        return False
    assert window.aggregation is not None
    return all(each.expression is None or is_total(each.expression) for each in window.aggregation.aggregates.values())
