"""Aggregates as columns: of records, of what was made of some of them, and of results.

A partial aggregate of some records of one key is a row: for sums the sum, for means the sum and the number of values.
A single record is one too, so that records and partial aggregates are combined in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.growing_columns import one_array
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.aggregates import Aggregate, AggregateKind
from penstock.expressions.evaluator import Evaluator
from penstock.expressions.type_rules import is_integer
from penstock.windows.declared_aggregation import DeclaredAggregation, mean

_SMALLEST, _BEYOND = -(1 << 63), 1 << 63
_EXACT_IN_FLOATS = 1 << 53
_WIDE = pa.decimal128(38, 0)
_SOME_VALUES = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)

Ids = np.ndarray[Any, np.dtype[np.int64]]
Columns = list[pa.Array]


@dataclass(frozen=True)
class _Part:
    """One column of the partial aggregates."""

    function: str
    """The kernel that combines its values: `sum`, `min` or `max`."""
    type: pa.DataType

    @property
    def may_overflow(self) -> bool:
        return self.function == "sum" and pa.types.is_integer(self.type)


class PartialAggregates:
    """The columns of a declared aggregation; with `counts_records` there is one of the number of records.

    It is at `records_place`: a column of its own, behind the others, unless the aggregation counts records itself.
    """

    def __init__(self, aggregation: DeclaredAggregation, *, counts_records: bool = False) -> None:
        self._of_records = [each for each in aggregation.aggregates.values() if not each.is_of_window]
        self._all = list(aggregation.aggregates.values())
        record_type = aggregation.record_type
        self._evaluators = [
            None if each.expression is None else Evaluator(each.expression, record_type) for each in self._of_records
        ]
        self._result_types = [each.result_type(record_type).column_type() for each in self._all]
        self._parts: list[_Part] = []
        counts: list[int] = []
        for each in self._of_records:
            if each.kind is AggregateKind.COUNT and each.expression is None:
                counts.append(len(self._parts))
            self._parts += _parts(each, record_type)
        self.number = len(self._parts)
        """How many columns the aggregation itself has."""
        self._adds_records = counts_records and not counts
        if self._adds_records:
            self._parts.append(_NUMBER)
        self.records_place = counts[0] if counts else self.number
        self.types = [part.type for part in self._parts]
        """The types of the columns."""

    def of_records(self, columns: Sequence[pa.Array], count: int) -> Columns:
        """Every record as a partial aggregate of its own; raises `RecordEvaluationError`."""
        made: Columns = []
        for aggregate, evaluator in zip(self._of_records, self._evaluators, strict=True):
            if evaluator is None:
                made.append(pa.array(np.ones(count, np.int64)))
                continue
            (values,) = evaluator.columns(columns, count)
            if aggregate.kind is not AggregateKind.COUNT:
                made.append(values.cast(self.types[len(made)]))
            if aggregate.kind in (AggregateKind.COUNT, AggregateKind.AVERAGE):
                made.append(pc.is_valid(values).cast(pa.int64()))
        if self._adds_records:
            made.append(pa.array(np.ones(count, np.int64)))
        return made

    def combined(self, ids: pa.Array, columns: Columns) -> tuple[Ids, Columns]:
        """One partial aggregate for every distinct id, in the order in which ids come first."""
        names = [str(place) for place in range(len(columns))]
        wide = {
            place
            for place, part in enumerate(self._parts)
            if part.may_overflow and _may_overflow(columns[place], len(ids))
        }
        values = [column.cast(_WIDE) if place in wide else column for place, column in enumerate(columns)]
        functions = [(name, part.function, _SOME_VALUES) for name, part in zip(names, self._parts, strict=True)]
        table = pa.table([ids, *values], names=["id", *names])
        grouped = table.group_by("id", use_threads=False).aggregate(functions).combine_chunks()
        made: Columns = []
        for place, (name, part) in enumerate(zip(names, self._parts, strict=True)):
            column = grouped.column(f"{name}_{part.function}")
            try:
                made.append(one_array(column.cast(part.type)))
            except pa.ArrowInvalid:
                if place not in wide:
                    raise
                raise OverflowError("a sum of integers does not fit into 64 bits") from None
        return one_array(grouped.column("id")).to_numpy().astype(np.int64), made

    def results(self, columns: Columns, count: int, start: int, end: int) -> Columns:
        """The values of the aggregates of a window."""
        given = iter(columns)
        made: Columns = []
        for aggregate, result_type in zip(self._all, self._result_types, strict=True):
            if aggregate.is_of_window:
                time = start if aggregate.kind is AggregateKind.WINDOW_START else end
                made.append(pa.array(np.full(count, time, np.int64)))
            elif aggregate.kind is AggregateKind.AVERAGE:
                made.append(_means(next(given), next(given)))
            else:
                made.append(next(given).cast(result_type))
        return made


_NUMBER = _Part("sum", pa.int64())


def _parts(aggregate: Aggregate, record_type: TypeInformation) -> list[_Part]:
    if aggregate.kind is AggregateKind.COUNT:
        return [_NUMBER]
    values = aggregate.input_type(record_type)
    assert values is not None
    total = _Part("sum", pa.int64() if is_integer(values) else pa.float64())
    if aggregate.kind is AggregateKind.SUM:
        return [total]
    if aggregate.kind is AggregateKind.AVERAGE:
        return [total, _NUMBER]
    return [_Part("min" if aggregate.kind is AggregateKind.MIN else "max", values.column_type())]


def _may_overflow(column: pa.Array, count: int) -> bool:
    extremes = pc.min_max(column)
    least, greatest = extremes["min"].as_py(), extremes["max"].as_py()
    if least is None:
        return False
    return min(least, 0) * count < _SMALLEST or max(greatest, 0) * count >= _BEYOND


def _means(totals: pa.Array, numbers: pa.Array) -> pa.Array:
    """The quotients, as Python makes them: integers are not rounded before they are divided."""
    known = pc.greater(numbers, 0)
    divisors = pc.if_else(known, numbers, None).cast(pa.float64())
    if pa.types.is_floating(totals.type) or not _may_exceed(totals, _EXACT_IN_FLOATS):
        return pc.divide(totals.cast(pa.float64()), divisors)
    pairs = zip(totals.to_pylist(), numbers.to_pylist(), strict=True)
    return pa.array([None if not number else mean(total, number) for total, number in pairs], pa.float64())


def _may_exceed(column: pa.Array, bound: int) -> bool:
    extremes = pc.min_max(column)
    least, greatest = extremes["min"].as_py(), extremes["max"].as_py()
    return least is not None and (least < -bound or greatest > bound)
