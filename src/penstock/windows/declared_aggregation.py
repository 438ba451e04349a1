"""Named aggregates of windows: what they are made of, and how one record after the other is added to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.row import Row
from penstock.common.typeinfo import CompositeTypeInfo, RowTypeInfo, TypeInformation
from penstock.expressions.aggregates import Aggregate, AggregateKind
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from penstock.expressions.references import FieldReference
from penstock.expressions.type_rules import is_integer
from penstock.functions.aggregation import AggregateFunction
from penstock.functions.window import AllWindowFunction, WindowFunction


@dataclass(frozen=True)
class DeclaredAggregation:
    """Rows of the key and the aggregates of a window."""

    aggregates: Mapping[str, Aggregate]
    record_type: TypeInformation
    key_type: TypeInformation | None
    """None: the windows are of the whole stream, and results have no key."""
    key_names: tuple[str, ...]

    @property
    def result_type(self) -> RowTypeInfo:
        """The type of the results."""
        types = [*self.key_types, *(each.result_type(self.record_type) for each in self.aggregates.values())]
        return RowTypeInfo(types, [*self.key_names, *self.aggregates])

    @property
    def key_types(self) -> list[TypeInformation]:
        """The types of the key's fields."""
        if self.key_type is None:
            return []
        if len(self.key_names) == 1:
            return [self.key_type]
        assert isinstance(self.key_type, CompositeTypeInfo)
        return list(self.key_type.get_field_types())

    @property
    def can_be_columns(self) -> bool:
        """Whether there are kernels for the types of all values, and a column for the key."""
        values = [each.input_type(self.record_type) for each in self.aggregates.values()]
        has_key = self.key_type is not None and not self.key_type.is_pickled
        return (has_key or not self.key_names) and all(map(_has_kernels, values))

    def __str__(self) -> str:
        return ", ".join(f"{name}={aggregate!r}" for name, aggregate in self.aggregates.items())


class RecordAggregation(AggregateFunction):
    """Adds one record after the other, where windows cannot be computed as columns.

    The accumulator has a list for every aggregate of values: how many there were, and what was made of them.
    """

    def __init__(self, aggregation: DeclaredAggregation) -> None:
        self._aggregation = aggregation
        of_records = [each for each in aggregation.aggregates.values() if not each.is_of_window]
        self._steps = [_STEPS[each.kind] for each in of_records]
        self._results = [_result_of(each, aggregation.record_type) for each in of_records]
        self._inputs = [_input_of(each, aggregation.record_type) for each in of_records]

    def create_accumulator(self) -> list[list[Any]]:
        """Nothing yet."""
        return [[0, None] for _ in self._steps]

    def add(self, value: Any, accumulator: list[list[Any]]) -> list[list[Any]]:
        """Adds a record."""
        return [
            part if (given := take(value)) is None else [part[0] + 1, step(part[1], given)]
            for part, step, take in zip(accumulator, self._steps, self._inputs, strict=True)
        ]

    def get_result(self, accumulator: list[list[Any]]) -> tuple[Any, ...]:
        """The values of the aggregates."""
        return tuple(result(*part) for result, part in zip(self._results, accumulator, strict=True))

    def merge(self, acc_a: list[list[Any]], acc_b: list[list[Any]]) -> list[list[Any]]:
        """Adds what is in one accumulator to another."""
        merged: list[list[Any]] = []
        for left, right, step in zip(acc_a, acc_b, self._steps, strict=True):
            if left[0] == 0 or right[0] == 0:
                merged.append(right if left[0] == 0 else left)
            else:
                merged.append([left[0] + right[0], step(left[1], right[1])])
        return merged

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordAggregation, (self._aggregation,)


class ResultRows(WindowFunction[Any, Row, Any, Any]):
    """Puts the key and the times of the window beside the aggregates."""

    def __init__(self, aggregation: DeclaredAggregation) -> None:
        self._aggregation = aggregation

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Row]:
        """The one row of a window."""
        (values,) = inputs
        names = self._aggregation.key_names
        fields = [] if not names else [key] if len(names) == 1 else list(key)
        of_records = iter(values)
        for aggregate in self._aggregation.aggregates.values():
            if aggregate.is_of_window:
                fields.append(window.start if aggregate.kind is AggregateKind.WINDOW_START else window.end)
            else:
                fields.append(next(of_records))
        row = Row(*fields)
        row.set_field_names([*names, *self._aggregation.aggregates])
        yield row


class AllResultRows(AllWindowFunction[Any, Row, Any]):
    """The same for windows of a whole stream."""

    def __init__(self, rows: ResultRows) -> None:
        self._rows = rows

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Row]:
        """The one row of a window."""
        return self._rows.apply(None, window, inputs)


def _has_kernels(values: TypeInformation | None) -> bool:
    if values is None:
        return True
    column_type, types = values.column_type(), pa.types
    return (
        types.is_integer(column_type)
        or types.is_floating(column_type)
        or types.is_boolean(column_type)
        or types.is_string(column_type)
        or types.is_binary(column_type)
        or types.is_temporal(column_type)
    )


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _least(so_far: Any, value: Any) -> Any:
    if so_far is None or _is_nan(so_far):
        return value
    return value if value < so_far else so_far


def _greatest(so_far: Any, value: Any) -> Any:
    if so_far is None or _is_nan(so_far):
        return value
    return value if value > so_far else so_far


def _total(so_far: Any, value: Any) -> Any:
    # From zero, as kernels do: the sum of -0.0 is 0.0.
    total = (0 if so_far is None else so_far) + value
    if isinstance(total, int) and not -(1 << 63) <= total < 1 << 63:
        raise OverflowError("a sum of integers does not fit into 64 bits")
    return total


_STEPS: dict[AggregateKind, Callable[[Any, Any], Any]] = {
    AggregateKind.SUM: _total,
    AggregateKind.AVERAGE: _total,
    AggregateKind.COUNT: lambda so_far, value: None,
    AggregateKind.MIN: _least,
    AggregateKind.MAX: _greatest,
}


def _result_of(aggregate: Aggregate, record_type: TypeInformation) -> Callable[[int, Any], Any]:
    if aggregate.kind is AggregateKind.COUNT:
        return lambda number, value: number
    if aggregate.kind is AggregateKind.AVERAGE:
        return lambda number, value: None if number == 0 else mean(value, number)
    if aggregate.kind is AggregateKind.SUM and not is_integer(aggregate.input_type(record_type)):
        return lambda number, value: None if number == 0 else float(value)
    return lambda number, value: value


def mean(total: Any, number: int) -> float:
    """The quotient; of numbers beyond all bounds what floating-point arithmetic makes of them."""
    return total / number if math.isfinite(total) else float(total)


def _input_of(aggregate: Aggregate, record_type: TypeInformation) -> Callable[[Any], Any]:
    """What takes the value of an aggregate out of a record."""
    expression = aggregate.expression
    if expression is None:
        return lambda record: True
    if isinstance(expression.operation, FieldReference) and isinstance(record_type, RowTypeInfo):
        field = expression.operation.field
        name = field if isinstance(field, str) else record_type.get_field_names()[field]
        return lambda record: record[name]
    evaluator, codec = Evaluator(expression, record_type), codec_for(record_type)

    def computed(record: Any) -> Any:
        try:
            columns = evaluator.columns(codec.to_columns([record]), 1)
        except RecordEvaluationError as failure:
            raise failure.cause from None
        return codec_for(evaluator.type).to_values(columns)[0]

    return computed
