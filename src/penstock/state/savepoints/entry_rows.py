"""The entries of one piece of state as the rows of a table, and back.

Columns, as far as the kind of state has them:

    key_group                          of keyed state
    key, or key_0, key_1, ...          see `key_columns`
    window_start, window_end           the namespace, where it is two numbers; else `namespace`, its bytes
    subtask                            of operator state: which subtask saved it
    map_key, or map_key_0, ...         of a map
    time                               of records that are kept by time
    position                           of an element in its list
    last_use                           of state with a time to live, in ms
    value                              see `value_columns`

State whose entries do not say what they are has `rest` and `value`: the bytes of an entry as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from struct import Struct
from typing import Any

import pyarrow as pa

from penstock.common.errors import PenstockError, StateCorruptionError, TypeMismatchError
from penstock.state.savepoints.key_columns import KeyForm, key_columns, key_form
from penstock.state.savepoints.value_columns import COLUMNS, ENCODED, ValueColumn
from penstock.state.state_schema import (
    BUCKETS,
    MAP,
    OPERATOR_LIST,
    VALUE,
    StateSchema,
    is_opaque,
    stored_serializer,
)
from penstock.state.store import Entry
from penstock.state.ttl_serializer import UsedValueSerializer
from penstock.state.value_serializers import split_values

RAW = "raw"
KEYED, BROADCAST, OPERATOR = "keyed", "broadcast", "operator"
BROADCAST_GROUP, OPERATOR_GROUP = 0xFFFF, 0xFFFD
_GROUP_AND_LENGTH = Struct(">HI")
_PREFIX_BYTES = 12
_HEAD_BYTES = _PREFIX_BYTES + _GROUP_AND_LENGTH.size
_TWO_LONGS = Struct(">qq")
_TIME = Struct(">Q")
_OFFSET = 1 << 63


@dataclass
class TableForm:
    """How the entries of a piece of state are shown: all that is needed to read them again."""

    scope: str
    """Whose state it is: a key's, that of all subtasks, or a subtask's own."""
    key: KeyForm = ""
    namespace: str = ""
    """"": none, "windows": two numbers, "bytes"."""
    map_key: KeyForm = ""
    value: str = RAW

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return dict(self.__dict__)


@dataclass
class _Rows:
    groups: list[int] = field(default_factory=list[int])
    keys: list[bytes] = field(default_factory=list[bytes])
    namespaces: list[bytes] = field(default_factory=list[bytes])
    rests: list[bytes] = field(default_factory=list[bytes])
    data: list[bytes] = field(default_factory=list[bytes])


def rows_of(entries: Iterable[Entry], schema: StateSchema | None, subtask: int) -> tuple[TableForm, pa.Table] | None:
    """The rows of the entries of one piece of state; None where there are none.

    Where the schema is not known, or entries do not fit it, they are shown as they are.
    """
    listed = list(entries)
    if not listed:
        return None
    if schema is not None:
        try:
            return _typed(listed, schema, subtask)
        except (PenstockError, ValueError, TypeError, IndexError, KeyError, OverflowError, pa.ArrowException):
            pass
    return _raw(listed, subtask)


def _scope_of(store_key: bytes) -> str:
    group = int.from_bytes(store_key[_PREFIX_BYTES : _PREFIX_BYTES + 2], "big")
    return {BROADCAST_GROUP: BROADCAST, OPERATOR_GROUP: OPERATOR}.get(group, KEYED)


def _raw(entries: Sequence[Entry], subtask: int) -> tuple[TableForm, pa.Table]:
    scope = _scope_of(entries[0][0])
    columns: dict[str, Any] = {}
    if scope == KEYED:
        columns["key_group"] = pa.array([int.from_bytes(key[12:14], "big") for key, _ in entries], pa.int32())
    else:
        columns["subtask"] = pa.array([subtask] * len(entries), pa.int32())
    columns["rest"] = pa.array([key[_PREFIX_BYTES + 2 :] for key, _ in entries], pa.binary())
    columns["value"] = pa.array([value for _, value in entries], pa.binary())
    return TableForm(scope), pa.table(columns)


def _typed(entries: Sequence[Entry], schema: StateSchema, subtask: int) -> tuple[TableForm, pa.Table]:
    form = TableForm(_scope_of(entries[0][0]))
    rows = _parsed(entries, schema)
    count, rest, stored, uses = _values(rows, schema)
    columns: dict[str, Any] = {}
    if form.scope == KEYED:
        form.key = key_form(rows.keys)
        shown: dict[str, Any] = {"key_group": pa.array(rows.groups, pa.int32())}
        shown |= key_columns(form.key, rows.keys, "key")
        if schema.namespaced:
            form.namespace, more = _namespaces(rows.namespaces)
            shown |= more
        columns |= _repeated(shown, count)
    elif form.scope == OPERATOR:
        columns["subtask"] = pa.array([subtask] * len(stored), pa.int32())
    if schema.form == MAP:
        form.map_key = key_form(rows.rests)
        columns |= key_columns(form.map_key, rows.rests, "map_key")
    columns |= rest
    if uses is not None:
        columns["last_use"] = pa.array(uses, pa.int64())
    column = ValueColumn(schema)
    form.value = ENCODED
    if column.has_columns and not is_opaque(schema):
        try:
            columns["value"] = column.column(COLUMNS, stored)
            form.value = COLUMNS
        except (TypeMismatchError, StateCorruptionError, ValueError, pa.ArrowException):
            pass
    if form.value == ENCODED:
        columns["value"] = column.column(ENCODED, stored)
    return form, pa.table(columns)


def _parsed(entries: Sequence[Entry], schema: StateSchema) -> _Rows:
    unpack = _GROUP_AND_LENGTH.unpack_from
    store_keys = [store_key for store_key, _ in entries]
    heads = [unpack(store_key, _PREFIX_BYTES) for store_key in store_keys]
    ends = [_HEAD_BYTES + length for _, length in heads]
    rows = _Rows(
        groups=[group for group, _ in heads],
        keys=[store_key[_HEAD_BYTES:end] for store_key, end in zip(store_keys, ends, strict=True)],
        rests=[store_key[end:] for store_key, end in zip(store_keys, ends, strict=True)],
        data=[data for _, data in entries],  # type: ignore[misc]
    )
    if schema.namespaced:
        keys, rows.keys = rows.keys, []
        for key in keys:
            at = len(key) - 2 - int.from_bytes(key[-2:], "big")
            if at < 0:
                raise ValueError("no namespace")
            rows.namespaces.append(key[at:-2])
            rows.keys.append(key[:at])
    return rows


def _values(
    rows: _Rows, schema: StateSchema
) -> tuple[list[int] | None, dict[str, pa.Array], list[bytes], list[int] | None]:
    """How many rows each entry has (None: one), the columns of their places, their stored values, their last uses."""
    if schema.form in (VALUE, MAP):
        if schema.form == VALUE and any(rows.rests):
            raise ValueError("an entry has more than a key")
        stored, uses = rows.data, None
        if schema.expires:
            uses = [_TIME.unpack_from(data)[0] - _OFFSET for data in rows.data]
            stored = [data[_TIME.size :] for data in rows.data]
        return None, {}, stored, uses
    columns: dict[str, pa.Array] = {}
    times: list[int] | None = None
    if schema.form == BUCKETS:
        times = [_TIME.unpack(rest)[0] - _OFFSET for rest in rows.rests]
        positions = [0] * len(rows.rests)
    else:
        positions = [int.from_bytes(rest, "big") for rest in rows.rests if len(rest) == 4]
        if len(positions) != len(rows.rests):
            raise ValueError("an entry is no part of a list")
    if is_opaque(schema):
        counts, stored, uses = None, rows.data, None
    else:
        counts, stored, uses = _elements(rows, schema)
        positions = _positions(rows, counts, schema)
    if times is not None:
        columns["time"] = pa.array(
            times if counts is None else [t for t, n in zip(times, counts, strict=True) for _ in range(n)], pa.int64()
        )
    columns["position"] = pa.array(positions, pa.int64())
    return counts, columns, stored, uses


def _positions(rows: _Rows, counts: list[int], schema: StateSchema) -> list[int]:
    """Of each element in its list: the parts of a list lie together."""
    if schema.form == BUCKETS:
        return [place for count in counts for place in range(count)]
    owners = zip(rows.keys, rows.namespaces or rows.keys, counts, strict=True)
    return [
        place
        for _, parts in groupby(owners, key=lambda each: each[:2])
        for place in range(sum(count for *_, count in parts))
    ]


def _elements(rows: _Rows, schema: StateSchema) -> tuple[list[int], list[bytes], list[int] | None]:
    single = stored_serializer(schema.value)
    reader = UsedValueSerializer(single) if schema.expires else single
    counts: list[int] = []
    stored: list[bytes] = []
    uses: list[int] | None = [] if schema.expires else None
    for data in rows.data:
        if schema.form == OPERATOR_LIST:
            elements = split_values(data)
            counts.append(len(elements))
            stored += elements
            continue
        values = reader.loads_many(data)
        counts.append(len(values))
        if uses is not None:
            uses += [use for use, _ in values]
            values = [value for _, value in values]
        stored += map(single.dumps, values)
    return counts, stored, uses


def _repeated(columns: Mapping[str, pa.Array], counts: list[int] | None) -> dict[str, pa.Array]:
    if counts is None:
        return dict(columns)
    take = pa.array([place for place, count in enumerate(counts) for _ in range(count)], pa.int64())
    return {name: column.take(take) for name, column in columns.items()}


def _namespaces(namespaces: Sequence[bytes]) -> tuple[str, dict[str, pa.Array]]:
    if all(len(each) == _TWO_LONGS.size for each in namespaces):
        windows = [_TWO_LONGS.unpack(each) for each in namespaces]
        return "windows", {
            "window_start": pa.array([start for start, _ in windows], pa.int64()),
            "window_end": pa.array([end for _, end in windows], pa.int64()),
        }
    return "bytes", {"namespace": pa.array(namespaces, pa.binary())}
