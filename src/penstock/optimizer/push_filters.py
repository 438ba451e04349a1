"""Filters where the fewest records have to be looked at."""

from __future__ import annotations

import dataclasses

from penstock.common.timestamp_assigner import IngestionTimeAssigner, RecordTimestampAssigner
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import FieldCondition
from penstock.expressions import Expression
from penstock.expressions.comparison import Comparison
from penstock.expressions.conditional import Junction
from penstock.expressions.construction import Alias, MakeRow, MakeTuple
from penstock.expressions.evaluator import bind
from penstock.expressions.references import FieldReference, Literal, RecordReference
from penstock.expressions.timestamps import ExpressionTimestampAssigner
from penstock.expressions.type_rules import is_integer, is_text
from penstock.optimizer.certain_conditions import certain_condition, may_fail
from penstock.optimizer.total_expressions import is_total
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import FORWARD, Chaining, Edge, Node, RecordFunctionKind, SourceNode
from penstock.plan.plan import Plan

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


class PushFilters:
    """Moves filters before maps that only choose and rename fields, and tells sources what no filter lets through.

    A source may then leave out parts of its data of which it knows that they have no such record: Parquet files tell
    the least and the greatest value of every column of a row group. The filter itself stays. A source whose records
    move event time on gives all of them, unless the job is a batch; so does one before a function or an expression that
    makes timestamps or keys of them, and may fail.
    """

    name = "push filters"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        while (moved := self._before_map(plan)) is not None:
            plan = moved
        return self._into_sources(plan)

    def _before_map(self, plan: Plan) -> Plan | None:
        for node in plan.topological_order:
            if isinstance(node, ExpressionNode) and node.function_kind is RecordFunctionKind.FILTER:
                mapping = _map_before(plan, node)
                expression = None if mapping is None else _before(node.expression, mapping)
                if mapping is not None and expression is not None:
                    return _swapped(plan, mapping, node, expression, self.name)
        return None

    def _into_sources(self, plan: Plan) -> Plan:
        nodes: dict[int, Node] = {node.id: node for node in plan.nodes}
        rewrites: list[str] = []
        for node in plan.sources:
            conditions = _conditions_on(plan, node)
            source = node.source.skipping(conditions) if conditions else None
            if source is not None and source != node.source:
                nodes[node.id] = dataclasses.replace(node, source=source)
                shown = " and ".join(f"{field} {symbol} {value!r}" for field, symbol, value in conditions)
                rewrites.append(f"{self.name}: [{node.id}] '{node.name}' may leave out what is not {shown}")
        if not rewrites:
            return plan
        return dataclasses.replace(plan, nodes=tuple(nodes.values()), rewrites=(*plan.rewrites, *rewrites))


def _map_before(plan: Plan, node: ExpressionNode) -> ExpressionNode | None:
    """The map whose results a filter reads, where nobody else reads them and both could change places."""
    edges = plan.inputs(node.id)
    if len(edges) != 1 or edges[0].exchange.kind is not FORWARD.kind or edges[0].side_output is not None:
        return None
    mapping = plan.node(edges[0].source)
    are_alike = (
        mapping.parallelism == node.parallelism
        and mapping.slot_sharing_group == node.slot_sharing_group
        and mapping.chaining is node.chaining is Chaining.ALWAYS
        and len(plan.outputs(mapping.id)) == 1
    )
    if not are_alike or not isinstance(mapping, ExpressionNode):
        return None
    return mapping if mapping.function_kind is RecordFunctionKind.MAP and _never_fails(mapping) else None


def _never_fails(mapping: ExpressionNode) -> bool:
    """Whether a map makes a row or a tuple of every record: of fields that are what they are declared to be."""
    if not isinstance(mapping.expression.operation, MakeRow | MakeTuple) or not is_total(mapping.expression):
        return False
    made = bind(mapping.expression, mapping.input_type).type
    return _fields(made) == _fields(mapping.output_type)


def _fields(record_type: TypeInformation | None) -> list[object]:
    assert isinstance(record_type, CompositeTypeInfo)
    types = [field_type.exact_key() for field_type in record_type.get_field_types()]
    return [*zip(record_type.get_field_names(), types, strict=True)]


def _before(condition: Expression, mapping: ExpressionNode) -> Expression | None:
    """The condition on what the map reads; None where the map computes what the condition is about."""
    made = mapping.expression
    operation = condition.operation
    if isinstance(operation, RecordReference):
        return None
    if isinstance(operation, FieldReference):
        assert isinstance(mapping.output_type, CompositeTypeInfo)
        names = mapping.output_type.get_field_names()
        place = operation.field if isinstance(operation.field, int) else names.index(operation.field)
        return _plain_field(made.operands[place], mapping.output_type.get_field_types()[place], mapping.input_type)
    operands = [_before(operand, mapping) for operand in condition.operands]
    kept = [operand for operand in operands if operand is not None]
    return Expression(operation, kept) if len(kept) == len(operands) else None


def _plain_field(part: Expression, made_type: TypeInformation, record_type: TypeInformation) -> Expression | None:
    """A part of a map that is nothing but a field, of the same type."""
    while isinstance(part.operation, Alias):
        (part,) = part.operands
    if not isinstance(part.operation, FieldReference) or not isinstance(record_type, CompositeTypeInfo):
        return None
    field = part.operation.field
    place = field if isinstance(field, int) else record_type.get_field_index(field)
    return part if record_type.get_field_types()[place].exact_key() == made_type.exact_key() else None


def _swapped(plan: Plan, mapping: ExpressionNode, node: ExpressionNode, expression: Expression, rule: str) -> Plan:
    first = dataclasses.replace(
        node, expression=expression, input_type=mapping.input_type, output_type=mapping.input_type
    )

    def moved(edge: Edge) -> Edge:
        if edge.target == mapping.id:
            return dataclasses.replace(edge, target=node.id)
        if edge.target == node.id:
            return dataclasses.replace(edge, source=node.id, target=mapping.id)
        return dataclasses.replace(edge, source=mapping.id) if edge.source == node.id else edge

    return dataclasses.replace(
        plan,
        nodes=tuple(first if each.id == node.id else each for each in plan.nodes),
        edges=tuple(map(moved, plan.edges)),
        rewrites=(*plan.rewrites, f"{rule}: [{node.id}] '{node.name}' goes before [{mapping.id}] '{mapping.name}'"),
    )


def _conditions_on(plan: Plan, node: SourceNode) -> list[FieldCondition]:
    """What every record fulfils that is read of a source, beyond filters that read it."""
    if node.watermark_strategy is not None and not (plan.batch and _times_are_fields(node.watermark_strategy)):
        return []
    edges = [edge for edge in plan.outputs(node.id) if edge.side_output is None]
    if len(edges) != 1 or not isinstance(node.output_type, CompositeTypeInfo):
        return []
    if may_fail(edges[0].exchange, node.output_type):
        return []
    condition = certain_condition(plan.node(edges[0].target))
    return [] if condition is None else _conjuncts(condition, node.output_type)


def _times_are_fields(strategy: WatermarkStrategy) -> bool:
    """Whether nothing is computed to know the time of a record: what is computed may fail, and sees all records."""
    assigner = strategy.timestamp_assigner
    if isinstance(assigner, ExpressionTimestampAssigner):
        return isinstance(assigner.expression.operation, FieldReference)
    return type(assigner) in (RecordTimestampAssigner, IngestionTimeAssigner)


def _conjuncts(condition: Expression, record_type: CompositeTypeInfo) -> list[FieldCondition]:
    operation = condition.operation
    if isinstance(operation, Junction) and operation.symbol == "&":
        return [each for operand in condition.operands for each in _conjuncts(operand, record_type)]
    if not isinstance(operation, Comparison) or operation.symbol not in _TURNED:
        return []
    left, right = (operand.operation for operand in condition.operands)
    symbol = operation.symbol
    if isinstance(left, Literal):
        left, right, symbol = right, left, _TURNED[symbol]
    if not isinstance(left, FieldReference) or not isinstance(right, Literal):
        return []
    names = record_type.get_field_names()
    name = left.field if isinstance(left.field, str) else names[left.field]
    field_type, value = record_type.get_field_types()[names.index(name)], right.value
    is_number = is_integer(field_type) and type(value) is int
    return [(name, symbol, value)] if is_number or (is_text(field_type) and type(value) is str) else []
