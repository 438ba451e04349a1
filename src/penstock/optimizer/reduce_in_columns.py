"""Finds functions of windows that can be computed as columns."""

from __future__ import annotations

import dataclasses
from typing import TypeGuard

from penstock.common.typeinfo import BasicType, BasicTypeInfo, CompositeTypeInfo, TypeInformation
from penstock.expressions.type_rules import is_boolean, is_integer, is_temporal, is_text
from penstock.functions.aggregation import AggregateFunction
from penstock.functions.field_aggregation import FieldAggregation, FieldReduceFunction
from penstock.plan.nodes import Exchange, ExchangeKind, Node
from penstock.plan.plan import Plan
from penstock.plan.window_node import WindowNode
from penstock.tracing import NotTraceable, TracedAccumulation, TracedKey, trace_reduction
from penstock.windows.definition import WindowDefinition
from penstock.windows.field_reduction import FieldCombination, FieldReduction

_COMBINATIONS = {
    FieldAggregation.SUM: FieldCombination.SUM,
    FieldAggregation.MIN: FieldCombination.MIN,
    FieldAggregation.MAX: FieldCombination.MAX,
}


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
    reduction = _reduction_of(node.window.reduce_function, record_type)
    if plan.batch and reduction.is_folded:
        # For the order of time the records would have to be sorted.
        raise NotTraceable("a batch adds floating-point numbers in the order of time")
    exchanges = [edge.exchange for edge in plan.inputs(node.id)]
    keys = set.intersection(*(_key_places(exchange, reduction) for exchange in exchanges))
    fields = [FieldCombination.SAME if place in keys else each for place, each in enumerate(reduction.fields)]
    return dataclasses.replace(reduction, fields=tuple(fields))


def _reduction_of(function: object, record_type: TypeInformation) -> FieldReduction:
    if isinstance(function, FieldReduceFunction):
        return _of_field(function, record_type)
    return trace_reduction(function, record_type)


def _of_field(function: FieldReduceFunction, record_type: TypeInformation) -> FieldReduction:
    combination = _COMBINATIONS.get(function.aggregation)
    if combination is None:
        raise NotTraceable(f"{function.aggregation.value} keeps whole records")
    if isinstance(record_type, CompositeTypeInfo):
        types, place = list(record_type.get_field_types()), function.place_in(record_type)
    else:
        types, place = [record_type], 0
    if place is None:
        raise NotTraceable("the records have no such field")
    if not _can_be_columns(combination, types[place]):
        raise NotTraceable(f"{function.aggregation.value} of {types[place]} is not computed in columns")
    fields = [FieldCombination.FIRST] * len(types)
    fields[place] = combination
    return FieldReduction(record_type, tuple(fields))


def _can_be_columns(combination: FieldCombination, values: TypeInformation) -> bool:
    # A FLOAT is computed with more digits than its column has.
    if is_integer(values) or (isinstance(values, BasicTypeInfo) and values.basic_type is BasicType.DOUBLE):
        return True
    is_comparable = is_text(values) or is_boolean(values) or is_temporal(values)
    return combination is not FieldCombination.SUM and is_comparable


def _key_places(exchange: Exchange, reduction: FieldReduction) -> set[int]:
    """The fields that are the same in all records of a key."""
    if exchange.kind is not ExchangeKind.HASH:
        return set()
    names = reduction.names
    if exchange.key_fields:
        found = [field if isinstance(field, int) else names.index(field) for field in exchange.key_fields]
    elif isinstance(exchange.key_selector, TracedKey) and exchange.key_selector.program is not None:
        found = exchange.key_selector.program.fields
    else:
        return set()
    return {
        place
        for place in found
        if reduction.fields[place] in (FieldCombination.FIRST, FieldCombination.LAST)
        and (is_integer(reduction.types[place]) or is_text(reduction.types[place]))
    }
