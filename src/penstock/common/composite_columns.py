"""How values that have parts become Arrow arrays and back: lists, maps, rows, tuples, dataclasses."""
# ruff: noqa: D102 (methods that a base class or protocol documents)

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any, Protocol

import pyarrow as pa

from penstock.common.columns import ColumnCodec, mismatch
from penstock.common.errors import TypeMismatchError
from penstock.common.row import Row
from penstock.common.slot_rows import columns_of_rows, rows_of_columns, values_by_place
from penstock.common.typeinfo_basic import TypeInformation
from penstock.common.typeinfo_composite import (
    CollectionTypeInfo,
    CompositeTypeInfo,
    DataclassTypeInfo,
    MapTypeInfo,
    NamedTupleTypeInfo,
    RowTypeInfo,
    VariadicTupleTypeInfo,
)


class Shape(Protocol):
    """How composite values come apart into fields and together again."""

    def split(self, values: Sequence[Any]) -> list[list[Any]]:
        """One list of values per field; raises `TypeMismatchError` with the index of the first misfit."""
        ...

    def join(self, fields: Sequence[list[Any]]) -> list[Any]:
        """The composite values again."""
        ...


def _wrong_length(type_info: CompositeTypeInfo, value: Any, index: int) -> TypeMismatchError:
    expected = type_info.get_field_names()
    return mismatch(type_info, value, index, f"it has {len(value)} fields, expected {len(expected)}: {expected}")


class TupleShape:
    """Tuples of a fixed length; lists and rows are taken by position."""

    def __init__(self, type_info: CompositeTypeInfo) -> None:
        self._type_info = type_info
        self._count = len(type_info.get_field_names())

    def split(self, values: Sequence[Any]) -> list[list[Any]]:
        if set(map(type, values)) != {tuple}:
            for index, value in enumerate(values):
                if not isinstance(value, tuple | list | Row):
                    raise mismatch(self._type_info, value, index)
        if set(map(len, values)) - {self._count}:
            index = next(i for i, value in enumerate(values) if len(value) != self._count)
            raise _wrong_length(self._type_info, values[index], index)
        return values_by_place(values, self._count)

    def join(self, fields: Sequence[list[Any]]) -> list[Any]:
        return list(zip(*fields, strict=True))


class InstanceShape:
    """Instances of one class: a dataclass or a named tuple."""

    def __init__(self, type_info: DataclassTypeInfo | NamedTupleTypeInfo) -> None:
        self._type_info = type_info
        self._cls = type_info.cls
        self._names = type_info.get_field_names()
        self._by_keyword = dataclasses.is_dataclass(self._cls) and any(f.kw_only for f in dataclasses.fields(self._cls))

    def split(self, values: Sequence[Any]) -> list[list[Any]]:
        if set(map(type, values)) - {self._cls}:
            index = next(i for i, value in enumerate(values) if type(value) is not self._cls)
            raise mismatch(self._type_info, values[index], index, self._advice(values[index]))
        if issubclass(self._cls, tuple):
            return values_by_place(values, len(self._names))
        return [list(map(attrgetter(name), values)) for name in self._names]

    def join(self, fields: Sequence[list[Any]]) -> list[Any]:
        if self._by_keyword:
            rows = zip(*fields, strict=True)
            return [self._cls(**dict(zip(self._names, row, strict=True))) for row in rows]
        return list(map(self._cls, *fields))

    def _advice(self, value: Any) -> str:
        if isinstance(value, self._cls):
            return "it is of a subclass; declare Types.PICKLED_BYTE_ARRAY() for a family of classes"
        return ""


class RowShape:
    """Rows; tuples and lists are taken by position, dicts by name."""

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type_info = type_info
        self._names = tuple(type_info.get_field_names())

    def split(self, values: Sequence[Any]) -> list[list[Any]]:
        count = len(self._names)
        if all(issubclass(each, Row) for each in set(map(type, values))):
            columns = columns_of_rows(values, self._names)
            if columns is not None:
                return columns
        ordered = [self._ordered(value, index) for index, value in enumerate(values)]
        return values_by_place(ordered, count)

    def join(self, fields: Sequence[list[Any]]) -> list[Any]:
        return rows_of_columns(self._names, fields)

    def _ordered(self, value: Any, index: int) -> Sequence[Any]:
        match value:
            case Row():
                if value.get_row_kind().value:
                    raise mismatch(
                        self._type_info,
                        value,
                        index,
                        f"its kind is {value.get_row_kind()}, and declared rows are inserts; "
                        "declare Types.PICKLED_BYTE_ARRAY() to keep row kinds",
                    )
                names = value.get_field_names()
                if names is not None and sorted(names) == sorted(self._names):
                    return value.get_fields_by_names(self._names)
                if names is not None:
                    raise mismatch(
                        self._type_info, value, index, f"its fields are {names}, expected {list(self._names)}"
                    )
            case tuple() | list():
                pass
            case dict():
                unknown = sorted(str(key) for key in value if key not in self._names)
                if unknown:
                    raise mismatch(self._type_info, value, index, f"it has unknown fields {unknown}")
                return [value.get(name) for name in self._names]
            case _:
                raise mismatch(self._type_info, value, index)
        if len(value) != len(self._names):
            raise _wrong_length(self._type_info, value, index)
        return value if isinstance(value, tuple | list) else list(value)


def shape_of(type_info: CompositeTypeInfo) -> Shape:
    """The shape of a composite type."""
    match type_info:
        case RowTypeInfo():
            return RowShape(type_info)
        case DataclassTypeInfo() | NamedTupleTypeInfo():
            return InstanceShape(type_info)
        case _:
            return TupleShape(type_info)


def encode_fields(
    names: Sequence[str], codecs: Sequence[ColumnCodec], fields: Sequence[Sequence[Any]]
) -> list[pa.Array]:
    """Each field's values as an array; of several errors, the first value's is raised, with its field."""
    try:
        return [codec.encode(values) for codec, values in zip(codecs, fields, strict=True)]
    except TypeMismatchError:
        raise min(_errors(names, codecs, fields), key=lambda error: error.index or 0) from None


def _errors(
    names: Sequence[str], codecs: Sequence[ColumnCodec], fields: Sequence[Sequence[Any]]
) -> Iterator[TypeMismatchError]:
    for name, codec, values in zip(names, codecs, fields, strict=True):
        try:
            codec.encode(values)
        except TypeMismatchError as error:
            yield TypeMismatchError(
                f"field {name!r}: {error}",
                index=error.index,
                field=name if error.field is None else f"{name}.{error.field}",
            )


class StructColumn:
    """Composite values inside other values."""

    def __init__(self, type_info: CompositeTypeInfo, codecs: Sequence[ColumnCodec]) -> None:
        self._names = type_info.get_field_names()
        self._fields = type_info.arrow_fields()
        self._shape = shape_of(type_info)
        self._codecs = list(codecs)

    def encode(self, values: Sequence[Any]) -> pa.Array:
        places = [place for place, value in enumerate(values) if value is not None]
        complete = len(places) == len(values)
        present = values if complete else [values[place] for place in places]
        try:
            fields = self._shape.split(present) if present else [[] for _ in self._names]
            arrays = encode_fields(self._names, self._codecs, fields)
        except TypeMismatchError as error:
            if error.index is not None:
                error.index = places[error.index]
            raise
        if complete:
            return pa.StructArray.from_arrays(arrays, fields=self._fields)
        order = iter(range(len(places)))
        take = pa.array([None if value is None else next(order) for value in values], type=pa.int64())
        return pa.StructArray.from_arrays(
            [array.take(take) for array in arrays], fields=self._fields, mask=take.is_null()
        )

    def decode(self, array: pa.Array) -> list[Any]:
        if not array.null_count:
            return self._join(array)
        present = iter(self._join(array.drop_null()))
        return [next(present) if valid else None for valid in array.is_valid().to_pylist()]

    def _join(self, array: pa.Array) -> list[Any]:
        return self._shape.join([codec.decode(array.field(place)) for place, codec in enumerate(self._codecs)])


def _offsets(values: Sequence[Any]) -> tuple[list[int], pa.Array]:
    ends = list(accumulate((0 if value is None else len(value) for value in values), initial=0))
    # A null start marks a null list.
    starts = [None if value is None else start for value, start in zip(values, ends, strict=False)]
    return ends, pa.array([*starts, ends[-1]], type=pa.int32())


def _outer_index(error: TypeMismatchError, ends: list[int]) -> TypeMismatchError:
    if error.index is None:
        return error
    outer = bisect_right(ends, error.index) - 1
    place = error.index - ends[outer]
    return TypeMismatchError(f"element {place}: {error}", index=outer, field=error.field)


def _slices(array: pa.Array) -> tuple[list[tuple[int, int] | None], int, int]:
    """Where each value's elements are, counted from the first; where that is; how many there are."""
    offsets: list[int] = array.offsets.to_numpy().tolist()
    first, last = (offsets[0], offsets[-1]) if offsets else (0, 0)
    ranges: list[tuple[int, int] | None] = [(start - first, end - first) for start, end in pairwise(offsets)]
    if array.null_count:
        ranges = [span if valid else None for span, valid in zip(ranges, array.is_valid().to_pylist(), strict=True)]
    return ranges, first, last - first


class ListColumn:
    """Lists, or tuples of any length, of values of one type."""

    def __init__(self, type_info: CollectionTypeInfo, element: ColumnCodec) -> None:
        self._type_info = type_info
        self._arrow_type = type_info.arrow_type()
        self._element = element
        self._cls: type[list[Any]] | type[tuple[Any, ...]] = (
            tuple if isinstance(type_info, VariadicTupleTypeInfo) else list
        )

    def encode(self, values: Sequence[Any]) -> pa.Array:
        if not set(map(type, values)) <= {self._cls, type(None)}:
            for index, value in enumerate(values):
                if value is not None and not isinstance(value, self._cls):
                    raise mismatch(self._type_info, value, index, f"a {self._cls.__name__} is expected")
        ends, offsets = _offsets(values)
        try:
            elements = self._element.encode(list(chain.from_iterable(v for v in values if v is not None)))
        except TypeMismatchError as error:
            raise _outer_index(error, ends) from None
        return pa.ListArray.from_arrays(offsets, elements, type=self._arrow_type)

    def decode(self, array: pa.Array) -> list[Any]:
        ranges, first, length = _slices(array)
        elements = self._element.decode(array.values.slice(first, length))
        cls = self._cls
        if cls is list:
            return [None if span is None else elements[span[0] : span[1]] for span in ranges]
        return [None if span is None else cls(elements[span[0] : span[1]]) for span in ranges]


class MapColumn:
    """Dicts."""

    def __init__(self, type_info: MapTypeInfo, key: ColumnCodec, value: ColumnCodec) -> None:
        self._type_info: TypeInformation = type_info
        self._arrow_type = type_info.arrow_type()
        self._key = key
        self._value = value

    def encode(self, values: Sequence[Any]) -> pa.Array:
        for index, value in enumerate(values):
            if value is not None and not isinstance(value, Mapping):
                raise mismatch(self._type_info, value, index)
            if value is not None and None in value:
                raise mismatch(self._type_info, value, index, "a key cannot be None")
        ends, offsets = _offsets(values)
        maps = [value for value in values if value is not None]
        try:
            keys = self._key.encode(list(chain.from_iterable(maps)))
            items = self._value.encode(list(chain.from_iterable(value.values() for value in maps)))
        except TypeMismatchError as error:
            raise _outer_index(error, ends) from None
        return pa.MapArray.from_arrays(offsets, keys, items, type=self._arrow_type)

    def decode(self, array: pa.Array) -> list[Any]:
        ranges, first, length = _slices(array)
        keys = self._key.decode(array.keys.slice(first, length))
        items = self._value.decode(array.items.slice(first, length))
        return [
            None if span is None else dict(zip(keys[span[0] : span[1]], items[span[0] : span[1]], strict=True))
            for span in ranges
        ]
