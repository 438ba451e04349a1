"""Aggregates records before they cross the exchange to their windows."""

from __future__ import annotations

import dataclasses

from penstock.plan.nodes import Edge, ExchangeKind
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.windows.assigner import AlignedWindowAssigner
from penstock.windows.definition import WindowDefinition
from penstock.windows.field_reduction import FieldReduction


class PreAggregate:
    """Lets senders combine the records of each key and pane, for windows that are computed as columns.

    They do so where there are many records for a key and a pane, which they see when they have them; a key with most of
    the records is then no more work for its subtask than any other. Records that come too late are found where they
    arrive, so it needs windows whose late records nobody reads. Where a record fails, all of its batch are sent as they
    are: it may be late, and then it fails nothing.
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
        and can_be_combined(node.window, batch=plan.batch)
    )


def can_be_combined(window: WindowDefinition, *, batch: bool) -> bool:
    """Whether senders can do a part of the work of these windows."""
    return (
        window.is_columnar
        and isinstance(window.assigner, AlignedWindowAssigner)
        # Of records between windows those are late whose own time has passed: a pane does not know how many.
        and window.assigner.covers_all_time
        and (window.reduction is None or _is_associative(window.reduction, batch=batch))
    )


def _is_associative(reduction: FieldReduction, *, batch: bool) -> bool:
    """Whether parts of the records can be reduced on their own: sums of floating-point numbers are not.

    A stream's records are in the order of arrival, which senders keep; those of a batch in that of their times.
    """
    return not reduction.is_folded and not (batch and reduction.is_ordered)
