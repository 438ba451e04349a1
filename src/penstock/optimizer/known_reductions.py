"""What a `reduce` makes of each field, where its function says so."""

from __future__ import annotations

import dataclasses

from penstock.common.typeinfo import BasicType, BasicTypeInfo, CompositeTypeInfo, TypeInformation
from penstock.expressions.type_rules import is_boolean, is_integer, is_temporal, is_text
from penstock.functions.field_aggregation import FieldAggregation, FieldReduceFunction
from penstock.plan.nodes import Exchange, ExchangeKind, Node
from penstock.plan.plan import Plan
from penstock.tracing import NotTraceable, TracedKey, trace_reduction
from penstock.windows.field_reduction import FieldCombination, FieldReduction

_COMBINATIONS = {
    FieldAggregation.SUM: FieldCombination.SUM,
    FieldAggregation.MIN: FieldCombination.MIN,
    FieldAggregation.MAX: FieldCombination.MAX,
}


def with_key_fields(reduction: FieldReduction, plan: Plan, node: Node) -> FieldReduction:
    """What a node's function makes of the records of a key: the fields of the key are the same in all of them."""
    exchanges = [edge.exchange for edge in plan.inputs(node.id)]
    keys = set.intersection(*(_key_places(exchange, reduction) for exchange in exchanges))
    fields = [FieldCombination.SAME if place in keys else each for place, each in enumerate(reduction.fields)]
    return dataclasses.replace(reduction, fields=tuple(fields))


def reduction_of(function: object, record_type: TypeInformation) -> FieldReduction:
    """What a function makes of two records; raises `NotTraceable` where that is not known."""
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
