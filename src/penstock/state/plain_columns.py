"""Columns of composite values and lists as the plain values that state stores, without objects of their classes.

For types that are made of rows, tuples, dataclasses, named tuples and lists of numbers, texts, booleans and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CompositeTypeInfo,
    ListTypeInfo,
    PrimitiveArrayTypeInfo,
    TypeInformation,
)

_ATOMS = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.DOUBLE)
_SAME = (*_ATOMS, BasicType.STRING, BasicType.BOOLEAN)
"""Types whose Arrow values are the plain values. A FLOAT is kept with more digits than its column has."""


class PlainColumn(Protocol):
    """A column of values of one type."""

    def to_plain(self, column: pa.Array) -> list[Any]:
        """The plain value of each row."""
        ...

    def from_plain(self, values: Sequence[Any]) -> pa.Array:
        """The column of plain values; raises where one of them is no value of the type."""
        ...


def plain_column(type_info: TypeInformation) -> PlainColumn | None:
    """What converts columns of a type; None where values of it need more."""
    if isinstance(type_info, CompositeTypeInfo):
        fields = [plain_column(each) for each in type_info.get_field_types()]
        known = [each for each in fields if each is not None]
        return _Composite(type_info, known) if len(known) == len(fields) else None
    if isinstance(type_info, ListTypeInfo):
        element = plain_column(type_info.element_type)
        return None if element is None else _List(type_info, element)
    is_bytes = isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
    if is_bytes or (isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _SAME):
        return _Atom(type_info)
    return None


class _Atom:
    def __init__(self, type_info: TypeInformation) -> None:
        self._arrow_type = type_info.arrow_type()
        self._by_numpy = isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _ATOMS

    def to_plain(self, column: pa.Array) -> list[Any]:
        if self._by_numpy and not column.null_count:
            return column.to_numpy().tolist()
        return column.to_pylist()

    def from_plain(self, values: Sequence[Any]) -> pa.Array:
        array = pa.array(values, self._arrow_type)
        if isinstance(array, pa.ChunkedArray):
            raise ValueError("the values make up more than 2 GB")
        return array


class _Composite:
    def __init__(self, type_info: CompositeTypeInfo, fields: Sequence[PlainColumn]) -> None:
        self._arrow_fields = type_info.arrow_fields()
        self._fields = fields

    def to_plain(self, column: pa.Array) -> list[Any]:
        parts = [field.to_plain(part) for field, part in zip(self._fields, column.flatten(), strict=True)]
        rows: list[Any] = list(zip(*parts, strict=True))
        if column.null_count:
            for place in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
                rows[place] = None
        return rows

    def from_plain(self, values: Sequence[Any]) -> pa.Array:
        present = [value for value in values if value is not None]
        if set(map(type, present)) - {tuple} or set(map(len, present)) - {len(self._fields)}:
            raise ValueError("not all values are tuples of the fields")
        parts = zip(*present, strict=True) if present else ((),) * len(self._fields)
        arrays = [field.from_plain(part) for field, part in zip(self._fields, parts, strict=True)]
        if len(present) == len(values):
            return pa.StructArray.from_arrays(arrays, fields=self._arrow_fields)
        is_missing = np.fromiter((value is None for value in values), np.bool_, len(values))
        taken = pa.array(np.cumsum(~is_missing) - 1, mask=is_missing)
        expanded = [array.take(taken) for array in arrays]
        return pa.StructArray.from_arrays(expanded, fields=self._arrow_fields, mask=pa.array(is_missing))


class _List:
    def __init__(self, type_info: ListTypeInfo, element: PlainColumn) -> None:
        self._arrow_type = type_info.arrow_type()
        self._element = element

    def to_plain(self, column: pa.Array) -> list[Any]:
        offsets: list[int] = column.offsets.to_numpy().tolist()
        first, last = (offsets[0], offsets[-1]) if offsets else (0, 0)
        elements = self._element.to_plain(column.values.slice(first, last - first))
        lists: list[Any] = [elements[start - first : end - first] for start, end in pairwise(offsets)]
        if column.null_count:
            for place in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
                lists[place] = None
        return lists

    def from_plain(self, values: Sequence[Any]) -> pa.Array:
        if set(map(type, values)) - {list, type(None)}:
            raise ValueError("not all values are lists")
        ends = list(accumulate((0 if value is None else len(value) for value in values), initial=0))
        # A null start marks a null list.
        starts = [None if value is None else start for value, start in zip(values, ends, strict=False)]
        elements = self._element.from_plain(list(chain.from_iterable(value for value in values if value is not None)))
        offsets = pa.array([*starts, ends[-1]], pa.int32())
        return pa.ListArray.from_arrays(offsets, elements, type=self._arrow_type)
