"""Aggregates records before they cross the exchange to where they are aggregated."""

from __future__ import annotations

import dataclasses

from penstock.common.typeinfo import TypeInformation
from penstock.functions.combinable_mark import is_combinable
from penstock.functions.field_aggregation import FieldReduceFunction
from penstock.optimizer.known_reductions import reduction_of, with_key_fields
from penstock.plan.nodes import Edge, ExchangeKind, ReduceNode
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.tracing import NotTraceable
from penstock.windows.assigner import AlignedWindowAssigner
from penstock.windows.definition import WindowDefinition
from penstock.windows.field_reduction import FieldCombination, FieldReduction
from penstock.windows.tumbling import TumblingWindows


class PreAggregate:
    """Lets senders combine the records of each key and pane, for windows, and of each key, for a `reduce` in batch.

    They do so where there are many records for a key and a pane, which they see when they have them; a key with most of
    the records is then no more work for its subtask than any other. It needs aggregates by name, or a function of which
    it is known or declared (`@combinable`) that parts of the records can be reduced on their own. Records that come too
    late are found where they arrive, so it needs windows whose late records nobody reads. Where a record fails, all of
    its batch are sent as they are: it may be late, and then it fails nothing.
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
    if edge.is_combined or edge.exchange.kind is not ExchangeKind.HASH or node.side_outputs:
        return False
    if isinstance(node, WindowNode) and node.window.is_columnar:
        return _has_common_panes(node.window) and _is_combined_in_columns(node.window, batch=plan.batch)
    # The program's own functions are called with whole records, and may change them: where that fails, columns have
    # them still as they were.
    if any(not _is_typed(plan.record_type(each)) or each.fields is not None for each in plan.inputs(node.id)):
        return False
    if isinstance(node, WindowNode):
        return _has_common_panes(node.window) and _is_declared(node.window)
    # A stream sends a result for every record: there is nothing to combine.
    return isinstance(node, ReduceNode) and plan.batch and _parts_can_be_reduced(plan, node)


def _has_common_panes(window: WindowDefinition) -> bool:
    """Whether all keys have the same windows, one after the other.

    Of records between windows those are late whose own time has passed: a pane does not know how many.
    """
    return isinstance(window.assigner, AlignedWindowAssigner) and window.assigner.covers_all_time


def _is_combined_in_columns(window: WindowDefinition, *, batch: bool) -> bool:
    reduction = window.reduction
    if reduction is None:
        return True
    # A row stands where the first of its records stood. In windows of several panes, one that comes before it may have
    # the last record.
    if FieldCombination.LAST in reduction.fields and not isinstance(window.assigner, TumblingWindows):
        return False
    return _is_associative(reduction, is_ordered=not batch)


def _is_declared(window: WindowDefinition) -> bool:
    """Whether the program says so of its function, and nothing but that is against columns."""
    return (
        window.reduce_function is not None and window.why_not_columnar is None and is_combinable(window.reduce_function)
    )


def _parts_can_be_reduced(plan: Plan, node: ReduceNode) -> bool:
    if is_combinable(node.function):
        return True
    reduction = _known_reduction(node)
    return reduction is not None and _is_associative(with_key_fields(reduction, plan, node), is_ordered=False)


def _known_reduction(node: ReduceNode) -> FieldReduction | None:
    """What the function does, where the rule before this one has found out, or nobody need look into it."""
    if node.reduction is not None or not isinstance(node.function, FieldReduceFunction):
        return node.reduction
    assert node.output_type is not None
    try:
        return reduction_of(node.function, node.output_type)
    except NotTraceable:
        return None


def _is_typed(record_type: object) -> bool:
    """Whether records have columns."""
    return isinstance(record_type, TypeInformation) and not record_type.is_pickled


def _is_associative(reduction: FieldReduction, *, is_ordered: bool) -> bool:
    """Whether parts of the records can be reduced on their own: sums of floating-point numbers are not.

    A stream's records are in the order of arrival, which senders keep; those of a batch in that of their times.
    """
    return not reduction.is_folded and (is_ordered or not reduction.is_ordered)
