"""The rows of a table of state as entries again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct
from typing import Any

import pyarrow as pa

from penstock.common.errors import StateCorruptionError
from penstock.state.key_groups import key_groups_of_keys
from penstock.state.namespaced_keys import namespace_suffix
from penstock.state.savepoints.entry_rows import (
    BROADCAST,
    BROADCAST_GROUP,
    KEYED,
    OPERATOR,
    OPERATOR_GROUP,
    RAW,
    TableForm,
)
from penstock.state.savepoints.key_columns import key_fields, keys_from_columns
from penstock.state.savepoints.value_columns import COLUMNS, ENCODED, ValueColumn
from penstock.state.state_schema import (
    BUCKETS,
    LIST,
    MAP,
    OPERATOR_LIST,
    StateSchema,
    is_opaque,
    stored_serializer,
)
from penstock.state.ttl_serializer import UsedValueSerializer, time_bytes
from penstock.state.value_serializers import join_values

_GROUP_AND_LENGTH = Struct(">HI")
_GROUP = Struct(">H")
_TWO_LONGS = Struct(">qq")
_TIME = Struct(">Q")
_OFFSET = 1 << 63
_LARGEST_PART = (1 << 32) - 1

SubtaskEntry = tuple[int, bytes, bytes]
"""The subtask that had it (0 where that does not matter), store key, value."""


def table_schema(form: TableForm, schema: StateSchema | None) -> pa.Schema:
    """The columns that a table of a form has."""
    fields: list[pa.Field] = []
    if form.value == RAW or schema is None:
        fields.append(pa.field("key_group" if form.scope == KEYED else "subtask", pa.int32()))
        return pa.schema([*fields, pa.field("rest", pa.binary()), pa.field("value", pa.binary())])
    if form.scope == KEYED:
        fields += [pa.field("key_group", pa.int32()), *key_fields(form.key, "key")]
        if schema.namespaced and form.namespace == "windows":
            fields += [pa.field("window_start", pa.int64()), pa.field("window_end", pa.int64())]
        elif schema.namespaced:
            fields.append(pa.field("namespace", pa.binary()))
    elif form.scope == OPERATOR:
        fields.append(pa.field("subtask", pa.int32()))
    if schema.form == MAP:
        fields += key_fields(form.map_key, "map_key")
    if schema.form == BUCKETS:
        fields.append(pa.field("time", pa.int64()))
    if schema.form in (LIST, BUCKETS, OPERATOR_LIST):
        fields.append(pa.field("position", pa.int64()))
    if schema.expires and not is_opaque(schema):
        fields.append(pa.field("last_use", pa.int64()))
    return pa.schema([*fields, pa.field("value", ValueColumn(schema).arrow_type(form.value))])


def entries_of(
    table: pa.Table, form: TableForm, schema: StateSchema | None, prefix: bytes, max_parallelism: int
) -> Iterator[SubtaskEntry]:
    """The entries that a table shows, for a job with so many key groups."""
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    for name, column in columns.items():
        if isinstance(column, pa.ChunkedArray):
            columns[name] = pa.concat_arrays(column.chunks)
    for name in ("key_group", "subtask", "time", "position", "last_use", "window_start", "window_end", "namespace"):
        if name in columns and columns[name].null_count:
            raise StateCorruptionError(f"the column '{name}' has a value that is missing")
    if form.value == RAW or schema is None:
        yield from _raw_entries(columns, form, prefix)
        return
    subtasks = columns["subtask"].to_pylist() if form.scope == OPERATOR else [0] * len(table)
    heads = _heads(columns, form, schema, prefix, max_parallelism, len(table))
    stored = ValueColumn(schema).stored(form.value, columns["value"])
    uses = columns["last_use"].to_pylist() if "last_use" in columns else None
    if is_opaque(schema):
        heads = _with_places(heads, columns, schema)
    elif schema.form in (LIST, BUCKETS, OPERATOR_LIST):
        yield from _lists(subtasks, heads, columns, stored, uses, schema)
        return
    elif schema.form == MAP:
        keys = keys_from_columns(form.map_key, columns, "map_key")
        heads = [head + key for head, key in zip(heads, keys, strict=True)]
    if uses is not None:
        stored = [time_bytes(use) + value for use, value in zip(uses, stored, strict=True)]
    yield from zip(subtasks, heads, stored, strict=True)


def _raw_entries(columns: Mapping[str, pa.Array], form: TableForm, prefix: bytes) -> Iterator[SubtaskEntry]:
    rests, values = columns["rest"].to_pylist(), columns["value"].to_pylist()
    if form.scope == KEYED:
        groups, subtasks = columns["key_group"].to_pylist(), [0] * len(rests)
    else:
        group = BROADCAST_GROUP if form.scope == BROADCAST else OPERATOR_GROUP
        groups, subtasks = [group] * len(rests), columns["subtask"].to_pylist()
    for subtask, group, rest, value in zip(subtasks, groups, rests, values, strict=True):
        if rest is None or value is None or not 0 <= group <= BROADCAST_GROUP:
            raise StateCorruptionError("an entry has no key or value")
        yield subtask, prefix + _GROUP.pack(group) + rest, value


def _heads(
    columns: Mapping[str, pa.Array],
    form: TableForm,
    schema: StateSchema,
    prefix: bytes,
    max_parallelism: int,
    count: int,
) -> list[bytes]:
    if form.scope != KEYED:
        group = BROADCAST_GROUP if form.scope == BROADCAST else OPERATOR_GROUP
        return [prefix + _GROUP_AND_LENGTH.pack(group, 0)] * count
    keys = keys_from_columns(form.key, columns, "key")
    groups = key_groups_of_keys(keys, max_parallelism).tolist()
    if schema.namespaced:
        if form.namespace == "windows":
            windows = zip(columns["window_start"].to_pylist(), columns["window_end"].to_pylist(), strict=True)
            suffixes = [namespace_suffix(_TWO_LONGS.pack(start, end)) for start, end in windows]
        else:
            suffixes = list(map(namespace_suffix, columns["namespace"].to_pylist()))
        keys = [key + suffix for key, suffix in zip(keys, suffixes, strict=True)]
    pack = _GROUP_AND_LENGTH.pack
    return [prefix + pack(group, len(key)) + key for group, key in zip(groups, keys, strict=True)]


def _with_places(heads: Sequence[bytes], columns: Mapping[str, pa.Array], schema: StateSchema) -> list[bytes]:
    if schema.form == BUCKETS:
        times = columns["time"].to_pylist()
        return [head + _TIME.pack(time + _OFFSET) for head, time in zip(heads, times, strict=True)]
    return [head + _part(place) for head, place in zip(heads, columns["position"].to_pylist(), strict=True)]


def _lists(
    subtasks: Sequence[int],
    heads: Sequence[bytes],
    columns: Mapping[str, pa.Array],
    stored: Sequence[bytes],
    uses: Sequence[int] | None,
    schema: StateSchema,
) -> Iterator[SubtaskEntry]:
    """The elements of each list, put together in the order of their positions as its one part."""
    times = columns["time"].to_pylist() if schema.form == BUCKETS else [None] * len(heads)
    lists: dict[tuple[int, bytes, Any], list[tuple[int, int]]] = {}
    places = zip(subtasks, heads, times, columns["position"].to_pylist(), strict=True)
    for row, (subtask, head, time, position) in enumerate(places):
        lists.setdefault((subtask, head, time), []).append((position, row))
    single = stored_serializer(schema.value)
    used = UsedValueSerializer(single)
    for (subtask, head, time), elements in lists.items():
        rows = [row for _, row in sorted(elements)]
        key = head + (_part(0) if time is None else _TIME.pack(time + _OFFSET))
        if schema.form == OPERATOR_LIST:
            yield subtask, key, join_values([stored[row] for row in rows])
        elif uses is not None:
            yield subtask, key, used.dumps_many([(uses[row], single.loads(stored[row])) for row in rows])
        else:
            yield subtask, key, single.dumps_many([single.loads(stored[row]) for row in rows])


def _part(number: int) -> bytes:
    if not 0 <= number <= _LARGEST_PART:
        raise StateCorruptionError(f"{number} is no position in a list")
    return number.to_bytes(4, "big")


def check_form(form: TableForm, schema: StateSchema | None) -> None:
    """Raises `StateCorruptionError` for what no writer writes."""
    if form.scope not in (KEYED, BROADCAST, OPERATOR) or form.value not in (RAW, COLUMNS, ENCODED):
        raise StateCorruptionError(f"{form.to_json()!r} is no form of a table")
    if form.namespace not in ("", "windows", "bytes"):
        raise StateCorruptionError(f"{form.namespace!r} is no form of a namespace")
    table_schema(form, schema)
