"""What is known of the records that a filter keeps."""

from __future__ import annotations

from functools import reduce
from operator import and_

from penstock.common.typeinfo import CompositeTypeInfo
from penstock.expressions import Expression, col, this
from penstock.optimizer.field_reads import is_constant_key
from penstock.optimizer.total_expressions import is_total
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import Exchange, ExchangeKind, Node, RecordFunctionKind
from penstock.plan.traced_node import TracedNode
from penstock.tracing import trace_filter


def certain_condition(node: Node) -> Expression | None:
    """A condition that every record fulfils that a filter keeps, and that can be asked of any record.

    Leaving out the others before the filter sees them hides no failure. Of an expression that cannot fail it is all of
    it; of a traced function the comparisons with which it begins.
    """
    if isinstance(node, ExpressionNode) and node.function_kind is RecordFunctionKind.FILTER:
        return node.expression if is_total(node.expression) else None
    if isinstance(node, TracedNode) and node.function_kind is RecordFunctionKind.FILTER:
        return _of_function(node)
    return None


def may_fail(exchange: Exchange) -> bool:
    """Whether the program's own code, or an expression, says where a record goes: it has to see all records."""
    if exchange.kind is ExchangeKind.HASH:
        return not exchange.key_fields and not is_constant_key(exchange)
    return exchange.kind is ExchangeKind.CUSTOM


def _of_function(node: TracedNode) -> Expression | None:
    record_type = node.input_type
    names = record_type.get_field_names() if isinstance(record_type, CompositeTypeInfo) else None
    parts: list[Expression] = [
        (this() if names is None else col(names[place])) == value
        for place, value in trace_filter(node.function, record_type).required_values
    ]
    return reduce(and_, parts) if parts else None
