"""Expressions where the API takes functions: what they stand for on a stream of a known type."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.common.errors import ArgumentError, PlanError
from penstock.common.timestamp_assigner import FieldTimestampAssigner
from penstock.common.typeinfo import TypeInformation
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream.arguments import refuse
from penstock.datastream.output_types import TypeHint, type_from_hint, united_type
from penstock.expressions import Expression, col, row
from penstock.expressions.evaluator import Evaluator, ExpressionKey, condition
from penstock.expressions.exploding import ExplodingEvaluator
from penstock.expressions.expression import as_expression
from penstock.expressions.references import FieldReference
from penstock.expressions.timestamps import ExpressionTimestampAssigner
from penstock.functions import FlatMapFunction, MapFunction
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import RecordFunctionKind

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

T = TypeVar("T")
MapHint = Callable[[Any], Any] | MapFunction | Expression | tuple[Any, ...]
"""What turns a record into another: a function, an expression, or a tuple of expressions."""


FlatMapHint = Callable[[Any], Any] | FlatMapFunction | Expression | tuple[Any, ...]
"""What turns a record into several: a function, or an expression with `explode`."""


def is_expression(given: object) -> bool:
    """Whether an argument is an expression, or a tuple with one in it."""
    return isinstance(given, Expression) or (isinstance(given, tuple) and any(map(is_expression, given)))


def map_by(stream: DataStream, method: str, given: Any, output_type: TypeHint = None) -> DataStream:
    """The stream of what the expression is for each record."""
    expression = as_expression(given)
    record_type, is_declared = united_type(method, stream.upstreams)
    declared = None if output_type is None else type_from_hint(method, "output_type", output_type)
    result_type = _checked(method, lambda: Evaluator(expression, record_type, declared).type)
    if result_type.is_pickled:
        raise refuse(f"{method}: `{expression.text}` is of no declared type, so that its values have no columns")
    return stream.program.transform(
        ExpressionNode,
        method.title(),
        (stream.upstreams,),
        result_type,
        type_is_declared=is_declared or declared is not None,
        expression=expression,
        input_type=record_type,
        function_kind=RecordFunctionKind.MAP,
    )


def flat_map_by(stream: DataStream, given: Any, output_type: TypeHint = None) -> DataStream:
    """The stream of the elements of a list, a record for each."""
    expression = as_expression(given)
    record_type, is_declared = united_type("flat_map", stream.upstreams)
    declared = None if output_type is None else type_from_hint("flat_map", "output_type", output_type)
    result_type = _checked("flat_map", lambda: ExplodingEvaluator(expression, record_type, declared).type)
    if result_type.is_pickled:
        raise refuse(f"flat_map: the elements of `{expression.text}` are of no declared type, and have no columns")
    return stream.program.transform(
        ExpressionNode,
        "FlatMap",
        (stream.upstreams,),
        result_type,
        type_is_declared=is_declared or declared is not None,
        expression=expression,
        input_type=record_type,
        function_kind=RecordFunctionKind.FLAT_MAP,
    )


def select_from(stream: DataStream, given: tuple[Expression | str, ...], named: dict[str, Any]) -> DataStream:
    """The stream of rows of the values."""
    fields = [col(each) if isinstance(each, str) else each for each in given]
    return map_by(stream, "select", row(*fields, **named))


def filter_by(stream: DataStream, expression: Expression) -> DataStream:
    """The stream of the records for which the expression is true."""
    record_type, is_declared = united_type("filter", stream.upstreams)
    _checked("filter", lambda: condition(expression, record_type))
    return stream.program.transform(
        ExpressionNode,
        "Filter",
        (stream.upstreams,),
        record_type,
        type_is_declared=is_declared,
        expression=expression,
        input_type=record_type,
        function_kind=RecordFunctionKind.FILTER,
    )


def without_plain_fields(key: Any) -> Any:
    """The key with the names of fields in the place of expressions that are nothing but fields, if all are."""
    if isinstance(key, Expression) and isinstance(key.operation, FieldReference):
        return key.operation.field
    if isinstance(key, list | tuple) and any(map(is_expression, key)):
        parts = [without_plain_fields(part) for part in key]
        return parts if all(isinstance(part, str | int) for part in parts) else key
    return key


def is_key_expression(key: object) -> bool:
    """Whether a key is an expression, or several fields of which one is."""
    return is_expression(key) or (isinstance(key, list) and is_expression(tuple(key)))


def expression_key(
    method: str, key: Any, key_type: TypeInformation | None, record_type: TypeInformation
) -> ExpressionKey:
    """The key that an expression computes."""
    if isinstance(key, list | tuple):
        key = tuple(col(part) if isinstance(part, str | int) else part for part in key)
    expression = as_expression(key)
    return _checked(method, lambda: ExpressionKey(expression, record_type, key_type))


def strategy_for_type(method: str, strategy: WatermarkStrategy, record_type: TypeInformation) -> WatermarkStrategy:
    """The strategy on records of a type, where fields and expressions are known."""
    assigner = strategy.timestamp_assigner
    if not isinstance(assigner, FieldTimestampAssigner):
        return strategy
    expression = as_expression(col(assigner.field) if isinstance(assigner.field, str) else assigner.field)
    bound = _checked(method, lambda: ExpressionTimestampAssigner(expression, record_type))
    return dataclasses.replace(strategy, timestamp_assigner=bound)


def _checked(method: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except ArgumentError:
        raise
    except PlanError as error:
        raise refuse(f"{method}: {error}") from None
