"""Aggregates as columns: of records, of what was made of some of them, and of results.

A partial aggregate of some records of one key is a row: for sums the sum, for means the sum and the number of values.
A single record is one too, so that records and partial aggregates are combined in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.aggregates import Aggregate, AggregateKind
from penstock.expressions.evaluator import Evaluator
from penstock.expressions.type_rules import is_integer
from penstock.runtime.columnar_windows.parts import NUMBER, Columns, Ids, Part, PartialRows
from penstock.windows.declared_aggregation import DeclaredAggregation, mean

_EXACT_IN_FLOATS = 1 << 53


class PartialAggregates(PartialRows):
    """The columns of a declared aggregation."""

    def __init__(self, aggregation: DeclaredAggregation, *, counts_records: bool = False) -> None:
        self._of_records = [each for each in aggregation.aggregates.values() if not each.is_of_window]
        self._all = list(aggregation.aggregates.values())
        record_type = aggregation.record_type
        self._evaluators = [
            None if each.expression is None else Evaluator(each.expression, record_type) for each in self._of_records
        ]
        self._result_types = [each.result_type(record_type).column_type() for each in self._all]
        parts: list[Part] = []
        counts: list[int] = []
        for each in self._of_records:
            if each.kind is AggregateKind.COUNT and each.expression is None:
                counts.append(len(parts))
            parts += _parts(each, record_type)
        super().__init__(parts, counts_records=counts_records, records_place=counts[0] if counts else None)

    def of_records(self, columns: Sequence[pa.Array], count: int, order: Ids | None = None) -> Columns:
        """Every record as a partial aggregate of its own."""
        made: Columns = []
        for aggregate, evaluator in zip(self._of_records, self._evaluators, strict=True):
            if evaluator is None:
                made.append(self.ones(count))
                continue
            (values,) = evaluator.columns(columns, count)
            if aggregate.kind is not AggregateKind.COUNT:
                made.append(values.cast(self.types[len(made)]))
            if aggregate.kind in (AggregateKind.COUNT, AggregateKind.AVERAGE):
                made.append(pc.is_valid(values).cast(pa.int64()))
        return [*made, self.ones(count)] if self.adds_records else made

    def batch(
        self, codec: RecordCodec, keys: Columns, columns: Columns, start: int | Ids, end: int | Ids, stamps: pa.Array
    ) -> Batch:
        """Rows of the keys and the aggregates."""
        return Batch(codec, columns=[*keys, *self._results(columns, len(stamps), start, end)], timestamps=stamps)

    def _results(self, columns: Columns, count: int, start: int | Ids, end: int | Ids) -> Columns:
        given = iter(columns)
        made: Columns = []
        for aggregate, result_type in zip(self._all, self._result_types, strict=True):
            if aggregate.is_of_window:
                time = start if aggregate.kind is AggregateKind.WINDOW_START else end
                made.append(pa.array(np.full(count, time, np.int64)))
            elif aggregate.kind is AggregateKind.AVERAGE:
                made.append(_means(_from_zero(next(given)), next(given)))
            elif aggregate.kind is AggregateKind.SUM:
                made.append(_from_zero(next(given)))
            else:
                made.append(next(given).cast(result_type))
        return made


def _parts(aggregate: Aggregate, record_type: TypeInformation) -> list[Part]:
    if aggregate.kind is AggregateKind.COUNT:
        return [NUMBER]
    values = aggregate.input_type(record_type)
    assert values is not None
    total = Part("sum", pa.int64() if is_integer(values) else pa.float64())
    if aggregate.kind is AggregateKind.SUM:
        return [total]
    if aggregate.kind is AggregateKind.AVERAGE:
        return [total, NUMBER]
    return [Part("min" if aggregate.kind is AggregateKind.MIN else "max", values.column_type())]


def _from_zero(totals: pa.Array) -> pa.Array:
    """The sums as if they began with 0: that of -0.0 alone, which nothing was added to, is 0.0."""
    return pc.add(totals, 0.0) if pa.types.is_floating(totals.type) else totals


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
