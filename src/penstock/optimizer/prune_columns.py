"""Reads and sends only the fields that somebody reads."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from penstock.common.typeinfo import CompositeTypeInfo
from penstock.optimizer.field_reads import (
    Fields,
    both,
    fields_of_exchange,
    fields_of_expression,
    fields_of_strategy,
    fields_of_windows,
)
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import (
    Edge,
    Node,
    RecordFunctionKind,
    SourceNode,
    StatelessNode,
    TimestampsAndWatermarksNode,
)
from penstock.plan.plan import Plan
from penstock.plan.traced_node import TracedNode
from penstock.plan.window_node import WindowNode


class PruneColumns:
    """Sources that can, read only the fields that some operator reads; exchanges carry only what is read behind them.

    That is known of expressions, traced functions, aggregates by name, keys and timestamps. Whoever calls another
    function of the program, and every sink, reads all fields. Records keep their type: a field that nobody reads is
    None.
    """

    name = "prune columns"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        reads = _Reads(plan)
        nodes: list[Node] = []
        edges: list[Edge] = []
        rewrites: list[str] = []
        for node in plan.nodes:
            source = _narrowed(node, reads) if isinstance(node, SourceNode) else None
            nodes.append(node if source is None else source)
            if source is not None:
                rewrites.append(f"{self.name}: [{node.id}] '{node.name}' reads {', '.join(source.read_fields or ())}")
        for edge in plan.edges:
            fields = _sent_fields(plan, edge, reads)
            edges.append(edge if fields == edge.fields else dataclasses.replace(edge, fields=fields))
            if fields is not None and fields != edge.fields:
                sender, target = plan.node(edge.source), plan.node(edge.target)
                sent = f"[{sender.id}] '{sender.name}' sends {', '.join(fields)}"
                rewrites.append(f"{self.name}: {sent} to [{target.id}] '{target.name}'")
        if not rewrites:
            return plan
        return dataclasses.replace(plan, nodes=tuple(nodes), edges=tuple(edges), rewrites=(*plan.rewrites, *rewrites))


class _Reads:
    """What operators read of their inputs, and others of their outputs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._of_inputs: dict[int, Fields] = {}
        self._of_outputs: dict[int, Fields] = {}
        for node in reversed(plan.topological_order):
            self._of_outputs[node.id] = self._read_behind(node)
            if not isinstance(node, SourceNode):
                self._of_inputs[node.id] = self._read_by(node)

    def of_input(self, node_id: int) -> Fields:
        """What an operator, and those that it hands its records on to, read; at least one field."""
        return self._of_inputs[node_id]

    def of_output(self, node_id: int) -> Fields:
        """What is read of an operator's results."""
        return self._of_outputs[node_id]

    def _read_behind(self, node: Node) -> Fields:
        read: Fields = frozenset()
        for edge in self._plan.outputs(node.id):
            if edge.side_output is None:
                read = both(read, self._of_inputs[edge.target])
                read = both(read, fields_of_exchange(edge.exchange, node.output_type))
                if edge.condition is not None and node.output_type is not None:
                    read = both(read, fields_of_expression(edge.condition, node.output_type))
        return read

    def _read_by(self, node: Node) -> Fields:
        edge = self._plan.inputs(node.id)[0]
        record_type = self._plan.record_type(edge)
        if not isinstance(record_type, CompositeTypeInfo):
            return None
        read: Fields = None
        if isinstance(node, ExpressionNode):
            read = fields_of_expression(node.expression, node.input_type)
        elif isinstance(node, TracedNode):
            read = node.read_fields
        elif isinstance(node, StatelessNode) and hasattr(node.function, "places_read"):
            names = record_type.get_field_names()
            read = frozenset(names[place] for place in node.function.places_read)
        elif isinstance(node, TimestampsAndWatermarksNode):
            read = fields_of_strategy(node.watermark_strategy, record_type)
        elif isinstance(node, WindowNode) and not node.side_outputs:
            read = fields_of_windows(node.window)
        if _hands_on(node):
            read = both(read, self.of_output(node.id))
        if read is None or read:
            return read
        # Records without any field would not even have a number.
        keys = fields_of_exchange(edge.exchange, record_type)
        return frozenset({min(keys) if keys else _cheapest(record_type)})


def _hands_on(node: Node) -> bool:
    """Whether an operator sends on the records that it gets."""
    if isinstance(node, ExpressionNode | TracedNode):
        return node.function_kind is RecordFunctionKind.FILTER
    return isinstance(node, TimestampsAndWatermarksNode)


def _narrowed(node: SourceNode, reads: _Reads) -> SourceNode | None:
    record_type = node.output_type
    if not isinstance(record_type, CompositeTypeInfo):
        return None
    read = both(reads.of_output(node.id), fields_of_strategy(node.watermark_strategy, record_type))
    names = record_type.get_field_names()
    fields = tuple(name for name in names if read is not None and name in read)
    if not fields or len(fields) == len(names) or fields == node.read_fields:
        return None
    source = node.source.reading(fields)
    return None if source is None else dataclasses.replace(node, source=source, read_fields=fields)


def _sent_fields(plan: Plan, edge: Edge, reads: _Reads) -> tuple[str, ...] | None:
    read, record_type = reads.of_input(edge.target), plan.record_type(edge)
    if read is None or plan.is_chained(edge) or plan.is_sorted(edge) or not isinstance(record_type, CompositeTypeInfo):
        return None
    fields = tuple(name for name in record_type.get_field_names() if name in read)
    return None if len(fields) == len(record_type.get_field_names()) else fields


def _cheapest(record_type: CompositeTypeInfo) -> str:
    """A field of a fixed width, where there is one."""
    widths = {
        field.name: field.type.bit_width if pa.types.is_primitive(field.type) else 1 << 20
        for field in record_type.arrow_fields()
    }
    return min(widths, key=lambda name: widths[name])
