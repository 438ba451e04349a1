"""Which fields of records expressions and operators read."""

from __future__ import annotations

from penstock.common.timestamp_assigner import IngestionTimeAssigner, RecordTimestampAssigner
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.common.watermark_generator import BoundedOutOfOrdernessWatermarks, NoWatermarksGenerator
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.expressions import Expression
from penstock.expressions.evaluator import ExpressionKey
from penstock.expressions.expression_parts import parts_of
from penstock.expressions.references import FieldReference, RecordReference
from penstock.expressions.timestamps import ExpressionTimestampAssigner
from penstock.functions.partitioning import NullByteKeySelector
from penstock.plan.nodes import Exchange, ExchangeKind
from penstock.tracing import TracedKey, TracedTimestampAssigner
from penstock.windows.assigner import AlignedWindowAssigner, is_known
from penstock.windows.declared_aggregation import DeclaredAggregation
from penstock.windows.definition import WindowDefinition, has_usual_trigger
from penstock.windows.session import EventTimeSessionWindows, ProcessingTimeSessionWindows

Fields = frozenset[str] | None
"""Names of fields; None: all of them, or what nobody knows."""

NONE: frozenset[str] = frozenset()
_SESSIONS = (EventTimeSessionWindows, ProcessingTimeSessionWindows)


def both(left: Fields, right: Fields) -> Fields:
    """What is read where two read."""
    return None if left is None or right is None else left | right


def fields_of_expression(expression: Expression, record_type: TypeInformation) -> Fields:
    """The fields that an expression is made of."""
    if not isinstance(record_type, CompositeTypeInfo):
        return None
    read: set[str] = set()
    for part in parts_of(expression):
        operation = part.operation
        if isinstance(operation, RecordReference):
            return None
        if isinstance(operation, FieldReference):
            field = operation.field
            read.add(field if isinstance(field, str) else record_type.get_field_names()[field])
    return frozenset(read)


def fields_of_exchange(exchange: Exchange, record_type: TypeInformation | None) -> Fields:
    """The fields that decide where a record goes."""
    if exchange.kind is ExchangeKind.CUSTOM:
        return None
    if exchange.kind is not ExchangeKind.HASH or is_constant_key(exchange):
        return NONE
    if not isinstance(record_type, CompositeTypeInfo):
        return None
    if isinstance(exchange.key_selector, ExpressionKey):
        return fields_of_expression(exchange.key_selector.expression, record_type)
    if isinstance(exchange.key_selector, TracedKey):
        program = exchange.key_selector.program
        return None if program is None else program.read_fields
    names = record_type.get_field_names()
    keys = frozenset(field if isinstance(field, str) else names[field] for field in exchange.key_fields)
    return keys or None


def is_constant_key(exchange: Exchange) -> bool:
    """Whether all records have the same key, whatever they are."""
    return isinstance(getattr(exchange.key_selector, "__self__", None), NullByteKeySelector)


def fields_of_strategy(strategy: WatermarkStrategy | None, record_type: TypeInformation) -> Fields:
    """The fields that timestamps and watermarks are made of."""
    if strategy is None:
        return NONE
    try:
        generator = strategy.create_generator()
    except Exception:  # raised again, and reported, where the generator works
        return None
    # Their very classes: one that is derived from them may look at records.
    if type(generator) not in (BoundedOutOfOrdernessWatermarks, NoWatermarksGenerator):
        return None
    assigner = strategy.timestamp_assigner
    if isinstance(assigner, ExpressionTimestampAssigner):
        return fields_of_expression(assigner.expression, record_type)
    if isinstance(assigner, TracedTimestampAssigner):
        return None if assigner.program is None else assigner.program.read_fields
    return NONE if type(assigner) in (RecordTimestampAssigner, IngestionTimeAssigner) else None


def fields_of_windows(window: WindowDefinition) -> Fields:
    """The fields that windows with aggregates by name read, where nobody else sees a record."""
    aggregation = window.aggregation
    if aggregation is None or window.evictor is not None or not has_usual_trigger(window):
        return None
    if not is_known(window.assigner) or not isinstance(window.assigner, (AlignedWindowAssigner, *_SESSIONS)):
        return None
    return fields_of_aggregates(aggregation)


def fields_of_aggregates(aggregation: DeclaredAggregation) -> Fields:
    """The fields that aggregates are made of."""
    read: Fields = NONE
    for aggregate in aggregation.aggregates.values():
        if aggregate.expression is not None:
            read = both(read, fields_of_expression(aggregate.expression, aggregation.record_type))
    return read
