"""The accumulators of an aggregate function that adds up integers, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.runtime.columnar_windows.parts import NUMBER, Columns, Ids, PartialRows
from penstock.windows.accumulation import Accumulation


class PartialSums(PartialRows):
    """A column for each sum; the function itself makes one result of them, for each window that fires."""

    def __init__(self, accumulation: Accumulation, *, counts_records: bool = False) -> None:
        super().__init__([NUMBER] * accumulation.width, counts_records=counts_records)
        self._accumulation = accumulation

    def of_records(self, columns: Sequence[pa.Array], count: int, order: Ids | None = None) -> Columns:
        """What each record adds."""
        made = self._accumulation.of_records(columns, count)
        return [*made, self.ones(count)] if self.adds_records else made

    def batch(
        self, codec: RecordCodec, keys: Columns, columns: Columns, start: int | Ids, end: int | Ids, stamps: pa.Array
    ) -> Batch:
        """The results of the function, but for None, which is none; raises `RecordEvaluationError`."""
        values: list[Any] = []
        for sums in zip(*(column.to_pylist() for column in columns), strict=True):
            try:
                values.append(self._accumulation.result(sums))
            except Exception as error:
                raise RecordEvaluationError(len(values), error) from error
        has_result = [value is not None for value in values]
        if not all(has_result):
            values, stamps = list(compress(values, has_result)), stamps.filter(pa.array(has_result))
        return Batch(codec, values=values, timestamps=stamps)
