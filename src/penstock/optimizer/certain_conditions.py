"""What is known of the records that a filter keeps."""

from __future__ import annotations

from functools import reduce
from operator import and_

from penstock.common.typeinfo import BasicTypeInfo, CompositeTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.expressions import Expression, col, this
from penstock.expressions.type_rules import is_bytes, is_temporal
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


def may_fail(exchange: Exchange, record_type: TypeInformation | None) -> bool:
    """Whether a record may fail for where it goes.

    So it is where the program's own code, or an expression, says that, or a field whose values may be no keys: they
    have to see all records.
    """
    if exchange.kind is ExchangeKind.HASH and exchange.key_fields:
        if not isinstance(record_type, CompositeTypeInfo):
            return True
        types = [record_type.get_field_types()[place] for place in _places(exchange, record_type)]
        # None is a key like others, but not alone where a value with fields is due.
        may_be_none = len(types) == 1 and isinstance(types[0], CompositeTypeInfo)
        return may_be_none or not all(map(_are_keys, types))
    if exchange.kind is ExchangeKind.HASH:
        return not is_constant_key(exchange)
    return exchange.kind is ExchangeKind.CUSTOM


def _places(exchange: Exchange, record_type: CompositeTypeInfo) -> list[int]:
    return [field if isinstance(field, int) else record_type.get_field_index(field) for field in exchange.key_fields]


def _are_keys(values: TypeInformation) -> bool:
    """Whether all values of a type are keys. An object of a class may be none, because of where its class is."""
    if isinstance(values, RowTypeInfo) or type(values) is TupleTypeInfo:
        return all(map(_are_keys, values.get_field_types()))
    return isinstance(values, BasicTypeInfo) or is_temporal(values) or is_bytes(values)


def _of_function(node: TracedNode) -> Expression | None:
    record_type = node.input_type
    names = record_type.get_field_names() if isinstance(record_type, CompositeTypeInfo) else None
    parts: list[Expression] = [
        (this() if names is None else col(names[place])) == value
        for place, value in trace_filter(node.function, record_type).required_values
    ]
    return reduce(and_, parts) if parts else None
