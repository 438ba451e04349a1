"""Partial aggregates: rows that some records of a key were made to, and that are combined as single records are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.growing_columns import one_array
from penstock.common.kernels import pc

_SMALLEST, _BEYOND = -(1 << 63), 1 << 63
_WIDE = pa.decimal128(38, 0)
_SOME_VALUES = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)

Ids = np.ndarray[Any, np.dtype[np.int64]]
Columns = list[pa.Array]


@dataclass(frozen=True)
class Part:
    """One column of the partial aggregates."""

    function: str
    """What combines its values: a kernel `sum`, `min` or `max`; or `first` or `last`, which choose a row."""
    type: pa.DataType
    is_order: bool = False
    """Whether it says which row is the first, or the last."""
    strict_name: str = ""
    """Of a value that cannot be combined with others where it is None: what it is called."""

    @property
    def may_overflow(self) -> bool:
        """Whether what is computed may not fit."""
        return self.function == "sum" and pa.types.is_integer(self.type)


NUMBER = Part("sum", pa.int64())
"""How many there are."""
FIRST_ORDER = Part("first", pa.int64(), is_order=True)
LAST_ORDER = Part("last", pa.int64(), is_order=True)


class PartialRows(ABC):
    """The columns of partial aggregates.

    With `counts_records` there is one of the number of records, at `records_place`: behind the others, unless the
    aggregates count records themselves.
    """

    is_ordered = False
    """Whether it has to be known which record came first."""
    is_folded = False
    """Whether records are to be added, one after the other, to what was made of those before them."""

    def __init__(self, parts: list[Part], *, counts_records: bool, records_place: int | None = None) -> None:
        self.number = len(parts)
        """How many columns there are without the one that is added for the number of records."""
        self.adds_records = counts_records and records_place is None
        self.parts = [*parts, NUMBER] if self.adds_records else parts
        self.records_place = self.number if records_place is None else records_place
        self.types = [part.type for part in self.parts]
        """The types of the columns."""

    @abstractmethod
    def of_records(self, columns: Sequence[pa.Array], count: int, order: Ids | None = None) -> Columns:
        """Every record as a row of its own; `order` says which came before which. Raises `RecordEvaluationError`."""

    @abstractmethod
    def batch(
        self, codec: RecordCodec, keys: Columns, columns: Columns, start: int | Ids, end: int | Ids, stamps: pa.Array
    ) -> Batch:
        """What is sent on of windows that begin and end at these times, one row for each."""

    @staticmethod
    def ones(count: int) -> pa.Array:
        """The number of records in each of them."""
        return pa.array(np.ones(count, np.int64))

    def combined(self, ids: pa.Array, columns: Columns) -> tuple[Ids, Columns]:
        """One row for every distinct id, in the order in which ids come first."""
        return combined(self.parts, ids, columns)

    def in_order(self, columns: Columns, first: int = 0) -> Columns:
        """The same rows, each known to come before those behind it: the places are counted from `first`."""
        if not self.is_ordered:
            return columns
        places = pa.array(np.arange(first, first + len(columns[0]), dtype=np.int64))
        return [places if part.is_order else column for part, column in zip(self.parts, columns, strict=False)]


def combined(parts: Sequence[Part], ids: pa.Array, columns: Columns) -> tuple[Ids, Columns]:
    """One row for every distinct id, in the order in which ids come first.

    Raises `OverflowError` where a sum of integers does not fit, and `TypeError` where None would be computed with.
    """
    _refuse_missing(parts, ids, columns)
    wide = {place for place, part in enumerate(parts) if part.may_overflow and _may_overflow(columns[place], len(ids))}
    given: dict[str, pa.Array] = {"id": ids}
    functions: list[tuple[str, str, Any]] = []
    chosen: dict[str, _Ranks] = {}
    for place, part in enumerate(parts):
        if part.function in ("first", "last"):
            if part.is_order:
                chosen[part.function] = ranks = _ranks(columns[place])
                given[part.function] = pa.array(ranks.of_rows)
                functions.append((part.function, "min" if part.function == "first" else "max", None))
            continue
        given[str(place)] = columns[place].cast(_WIDE) if place in wide else columns[place]
        functions.append((str(place), part.function, _SOME_VALUES))
        is_negative_zero = _negative_zeros(part, columns[place])
        if is_negative_zero is not None:
            given[f"{place} is -0.0"] = is_negative_zero
            functions.append((f"{place} is -0.0", "all", None))
    grouped = pa.table(given).group_by("id", use_threads=False).aggregate(functions).combine_chunks()
    rows = {
        "first": chosen["first"].rows(grouped.column("first_min")) if "first" in chosen else None,
        "last": chosen["last"].rows(grouped.column("last_max")) if "last" in chosen else None,
    }
    made: Columns = []
    for place, part in enumerate(parts):
        if part.function in rows:
            made.append(columns[place].take(rows[part.function]))
            continue
        try:
            column = one_array(grouped.column(f"{place}_{part.function}").cast(part.type))
            if f"{place} is -0.0" in given:
                column = pc.if_else(one_array(grouped.column(f"{place} is -0.0_all")), -0.0, column)
            made.append(column)
        except pa.ArrowInvalid:
            if place not in wide:
                raise
            raise OverflowError("a sum of integers does not fit into 64 bits") from None
    return one_array(grouped.column("id")).to_numpy().astype(np.int64), made


class _Ranks(NamedTuple):
    """Rows by an order that need not be theirs."""

    of_rows: Ids
    in_order: Ids | None
    """None where rows are in order."""

    def rows(self, ranks: pa.ChunkedArray) -> pa.Array:
        """The rows that have some ranks."""
        places = one_array(ranks)
        return places if self.in_order is None else pa.array(self.in_order[places.to_numpy()])


def _ranks(order: pa.Array) -> _Ranks:
    values = order.to_numpy()
    count = np.arange(len(values), dtype=np.int64)
    if bool((values[1:] >= values[:-1]).all()):
        return _Ranks(count, None)
    # Stable: of rows with equal places in the order the one that came first is before the others.
    in_order = np.argsort(values, kind="stable")
    of_rows = np.empty(len(values), np.int64)
    of_rows[in_order] = count
    return _Ranks(of_rows, in_order)


def _refuse_missing(parts: Sequence[Part], ids: pa.Array, columns: Columns) -> None:
    """Python would fail to combine None with anything; alone it may stand."""
    for part, column in zip(parts, columns, strict=True):
        if part.strict_name and column.null_count:
            distinct, counts = np.unique(ids.to_numpy(), return_counts=True)
            without = np.unique(ids.to_numpy()[column.is_null().to_numpy(zero_copy_only=False)])
            if np.isin(without, distinct[counts > 1]).any():
                raise TypeError(f"'{part.strict_name}' of a record is None, which cannot be combined with another")


def _negative_zeros(part: Part, column: pa.Array) -> pa.Array | None:
    """Which values are -0.0, where some are: kernels begin sums with 0.0, and of nothing else the sum is -0.0."""
    if part.function != "sum" or not pa.types.is_floating(part.type):
        return None
    values = column.to_numpy(zero_copy_only=False)
    found = (values == 0.0) & np.signbit(values)
    return pa.array(found) if found.any() else None


def _may_overflow(column: pa.Array, count: int) -> bool:
    extremes = pc.min_max(column)
    least, greatest = extremes["min"].as_py(), extremes["max"].as_py()
    if least is None:
        return False
    return min(least, 0) * count < _SMALLEST or max(greatest, 0) * count >= _BEYOND
