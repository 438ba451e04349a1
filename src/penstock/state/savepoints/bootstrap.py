"""The entries of a piece of state that is made of rows: of a DataFrame, an Arrow table, or dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.errors import ArgumentError, TypeMismatchError
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from penstock.state.key_encoding import encode_key
from penstock.state.plain_values import from_plain, to_plain
from penstock.state.state_keys import StateKeys
from penstock.state.store import Entry
from penstock.state.value_serializers import serializer_for

Rows = Any
"""A pandas or Spark DataFrame, an Arrow table, or an iterable of dicts."""
Columns = str | Sequence[str]


def rows_from(data: Rows) -> list[Mapping[str, Any]]:
    """Rows as dicts of Python values."""
    if hasattr(data, "toArrow"):
        # Not by way of pandas, where a column of integers with a null in it is one of floats.
        data = data.toArrow()
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        data = pa.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, pa.Table | pa.RecordBatch):
        return data.to_pylist()
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        rows = list(data)
        if all(isinstance(row, Mapping) for row in rows):
            return rows
    raise ArgumentError(
        f"{type(data).__qualname__} is no table: give a pandas or Spark DataFrame, an Arrow table or a list of dicts"
    )


def entries_from(
    uid: str,
    descriptor: StateDescriptor,
    rows: Sequence[Mapping[str, Any]],
    max_parallelism: int,
    *,
    key: Columns,
    value: Columns | None,
    map_key: Columns | None,
) -> dict[bytes, bytes]:
    """The entries that a descriptor's state has, one row for each value, list element or map entry."""
    is_map, is_list = isinstance(descriptor, MapStateDescriptor), isinstance(descriptor, ListStateDescriptor)
    if is_map and map_key is None:
        raise ArgumentError(f"state '{descriptor.name}' is a map: say which column has its keys (map_key=...)")
    if descriptor.time_to_live is not None:
        raise ArgumentError(f"state '{descriptor.name}' has a time to live: rows do not say when values were last used")
    value_type = descriptor.type_info
    if isinstance(descriptor, MapStateDescriptor):
        value_type = descriptor.value_type
    elif isinstance(descriptor, ListStateDescriptor):
        value_type = descriptor.element_type
    serializer = serializer_for(value_type)
    keys = StateKeys(uid, descriptor.name, max_parallelism)
    entries: dict[bytes, bytes] = {}
    lists: dict[bytes, list[Any]] = {}
    for number, row in enumerate(rows):
        try:
            place = keys.of(encode_key(_of_columns(row, key)))
            found = serializer.convert(_value(row, value, value_type))
            if is_list:
                lists.setdefault(place, []).append(found)
                continue
            if is_map:
                assert map_key is not None
                of_map = serializer_for(descriptor.key_type)  # type: ignore[attr-defined]
                place += encode_key(of_map.convert(_of_columns(row, map_key)))
            if place in entries:
                raise ArgumentError("another row has the same key")
            entries[place] = serializer.dumps(found)
        except (ArgumentError, TypeMismatchError, TypeError, ValueError, KeyError) as error:
            raise ArgumentError(f"state '{descriptor.name}', row {number} ({dict(row)!r}): {error}") from None
    for place, elements in lists.items():
        entries[place + bytes(4)] = serializer.dumps_many(elements)
    return entries


def _value(row: Mapping[str, Any], columns: Columns | None, value_type: TypeInformation | None) -> Any:
    if isinstance(value_type, CompositeTypeInfo):
        names = value_type.get_field_names()
        if columns is None or not isinstance(columns, str):
            fields = [row[column] for column in (columns or names)]
        else:
            fields = _fields_of(row[columns], names)
        # Through the plain form, which has no classes: lists and dicts stand for what is inside, too.
        convert = from_plain(value_type)
        assert convert is not None
        return convert(
            tuple(_plain(each, kind) for each, kind in zip(fields, value_type.get_field_types(), strict=True))
        )
    return _of_columns(row, "value" if columns is None else columns)


def _fields_of(given: Any, names: Sequence[str]) -> Sequence[Any]:
    if isinstance(given, Mapping):
        return [given.get(name) for name in names]
    if isinstance(given, tuple | list):
        return given
    return [getattr(given, name) for name in names]


def _plain(given: Any, kind: TypeInformation) -> Any:
    if isinstance(kind, CompositeTypeInfo) and given is not None:
        names, types = kind.get_field_names(), kind.get_field_types()
        return tuple(_plain(each, part) for each, part in zip(_fields_of(given, names), types, strict=True))
    convert = to_plain(kind)
    return given if given is None or convert is None else convert(given)


def _of_columns(row: Mapping[str, Any], columns: Columns) -> Any:
    if isinstance(columns, str):
        return row[columns]
    return tuple(row[column] for column in columns)


def sorted_entries(entries: Mapping[bytes, bytes]) -> list[Entry]:
    """Entries in the order of a store."""
    return sorted(entries.items())
