"""Finds functions of windows that can be computed as columns."""

from __future__ import annotations

import dataclasses
from typing import TypeGuard

from penstock.common.typeinfo import TypeInformation
from penstock.functions.aggregation import AggregateFunction
from penstock.functions.field_aggregation import FieldReduceFunction
from penstock.optimizer.known_reductions import reduction_of, with_key_fields
from penstock.plan.nodes import Node
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.tracing import NotTraceable, TracedAccumulation
from penstock.windows.definition import WindowDefinition
from penstock.windows.field_reduction import FieldReduction


class ReduceInColumns:
    """Computes `sum`, `min` and `max` of windows, and a `reduce` that does the same, for all records of an epoch.

    A function is known for what it does where it makes each field of the result of that field of the two records alone:
    their sum, the least or greatest, that of the first or of the last. An `AggregateFunction` is known where it adds
    something of the record to integers that begin with zero. Sums of floating-point numbers depend on the order: those
    of tumbling windows are computed in that of arrival.
    """

    name = "reduce in columns"

    def __init__(self, *, traces: bool = True) -> None:
        self._traces = traces
        """Whether the program's own functions are looked into."""

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        looked_at = {node.id: _looked_at(plan, node) for node in plan.nodes if self._can_be_known(node)}
        changed = {node_id: made for node_id, made in looked_at.items() if made is not None}
        if not changed:
            return plan
        return dataclasses.replace(
            plan,
            nodes=tuple(changed.get(node.id, node) for node in plan.nodes),
            rewrites=(
                *plan.rewrites,
                *(
                    f"{self.name}: [{node.id}] '{node.name}', {node.window.reduction or node.window.accumulation}"
                    for node in changed.values()
                    if not node.not_in_columns
                ),
            ),
        )

    def _can_be_known(self, node: Node) -> TypeGuard[WindowNode]:
        return isinstance(node, WindowNode) and (
            self._traces or isinstance(node.window.reduce_function, FieldReduceFunction)
        )


def _looked_at(plan: Plan, node: WindowNode) -> WindowNode | None:
    """The node in columns, or with the reason why not; None where there is nothing to find."""
    window = node.window
    if window.aggregation is not None or window.reduction or window.accumulation:
        return None
    if (window.reduce_function, window.aggregate_function) == (None, None):
        return None
    try:
        made = _in_columns(plan, node)
    except NotTraceable as refusal:
        reason = refusal.told(f"{node.call_site.file}:{node.call_site.line}")
        return None if reason == node.not_in_columns else dataclasses.replace(node, not_in_columns=reason)
    description = str(made) if node.description == str(window) else node.description
    return dataclasses.replace(node, window=made, description=description, not_in_columns="")


def _in_columns(plan: Plan, node: WindowNode) -> WindowDefinition:
    window, record_type = node.window, node.window.element_type
    if window.window_function is not None:
        raise NotTraceable("a window function is called with the results")
    if record_type is None or record_type.is_pickled:
        raise NotTraceable("the records have no declared type")
    if isinstance(window.aggregate_function, AggregateFunction):
        made = dataclasses.replace(window, accumulation=_accumulation_of(window.aggregate_function, record_type))
    elif node.output_type is None or node.output_type.exact_key() != record_type.exact_key():
        raise NotTraceable("the results have another type than the records")
    else:
        made = dataclasses.replace(window, reduction=_reduction_by_key(plan, node, record_type))
    if made.why_not_columnar is not None:
        raise NotTraceable(made.why_not_columnar)
    return made


def _accumulation_of(function: AggregateFunction, record_type: TypeInformation) -> TracedAccumulation:
    made = TracedAccumulation(function, record_type)
    if not made.width:
        raise NotTraceable("the accumulator is empty")
    return made


def _reduction_by_key(plan: Plan, node: WindowNode, record_type: TypeInformation) -> FieldReduction:
    reduction = reduction_of(node.window.reduce_function, record_type)
    if plan.batch and reduction.is_folded:
        # For the order of time the records would have to be sorted.
        raise NotTraceable("a batch adds floating-point numbers in the order of time")
    return with_key_fields(reduction, plan, node)
