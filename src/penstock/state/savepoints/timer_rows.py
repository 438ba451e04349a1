"""The timers of an operator as the rows of a table, and back.

Columns: `domain` ("event_time" or "processing_time"), `timestamp` in ms, `key_group`, the key (see `key_columns`) and,
where timers have one, the namespace as in tables of state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any

import pyarrow as pa

from penstock.common.errors import StateCorruptionError
from penstock.state.key_groups import key_groups_of_keys
from penstock.state.savepoints.key_columns import ENCODED, KeyForm, key_columns, key_fields, key_form, keys_from_columns
from penstock.state.timer_keys import EVENT_TIME_TAG, PROCESSING_TIME_TAG, timer_in, timer_key

_TWO_LONGS = Struct(">qq")
_DOMAINS = {EVENT_TIME_TAG: "event_time", PROCESSING_TIME_TAG: "processing_time"}
_TAGS = {domain: tag for tag, domain in _DOMAINS.items()}
NAMESPACES = ("", "windows", "bytes")


def is_timer(store_key: bytes) -> bool:
    """Whether an entry is a timer."""
    return store_key[8:12] in _DOMAINS


def timer_rows(
    store_keys: Sequence[bytes], max_parallelism: int, *, encoded: bool = False
) -> tuple[KeyForm, str, pa.Table]:
    """The rows of the timers of one operator, with the forms of their keys and namespaces; `encoded`: as bytes."""
    timers = [timer_in(each) for each in store_keys]
    keys = [key for _, key, _ in timers]
    namespaces = [namespace for _, _, namespace in timers]
    form = ENCODED if encoded else key_form(keys)
    columns: dict[str, Any] = {
        "domain": pa.array([_DOMAINS[each[8:12]] for each in store_keys], pa.string()),
        "timestamp": pa.array([timestamp for timestamp, _, _ in timers], pa.int64()),
        "key_group": pa.array(key_groups_of_keys(keys, max_parallelism), pa.int32()),
        **key_columns(form, keys, "key"),
    }
    if not any(namespaces) and not encoded:
        return form, "", pa.table(columns)
    if not encoded and all(len(each) == _TWO_LONGS.size for each in namespaces):
        windows = [_TWO_LONGS.unpack(each) for each in namespaces]
        columns["window_start"] = pa.array([start for start, _ in windows], pa.int64())
        columns["window_end"] = pa.array([end for _, end in windows], pa.int64())
        return form, "windows", pa.table(columns)
    columns["namespace"] = pa.array(namespaces, pa.binary())
    return form, "bytes", pa.table(columns)


def timer_schema(form: KeyForm, namespace: str) -> pa.Schema:
    """The columns of a table of timers."""
    if namespace not in NAMESPACES:
        raise StateCorruptionError(f"{namespace!r} is no form of a namespace")
    named = {
        "": [],
        "windows": [pa.field("window_start", pa.int64()), pa.field("window_end", pa.int64())],
        "bytes": [pa.field("namespace", pa.binary())],
    }
    return pa.schema(
        [
            pa.field("domain", pa.string()),
            pa.field("timestamp", pa.int64()),
            pa.field("key_group", pa.int32()),
            *key_fields(form, "key"),
            *named[namespace],
        ]
    )


def timer_entries(table: pa.Table, form: KeyForm, namespace: str, uid: str, max_parallelism: int) -> Iterator[bytes]:
    """The store keys of timers."""
    table = table.combine_chunks()
    columns = {name: table.column(name).chunk(0) for name in table.column_names} if len(table) else {}
    if not columns:
        return
    if any(column.null_count for column in columns.values()):
        raise StateCorruptionError(f"a timer of operator '{uid}' has a value that is missing")
    keys = keys_from_columns(form, columns, "key")
    groups = key_groups_of_keys(keys, max_parallelism).tolist()
    if namespace == "windows":
        windows = zip(columns["window_start"].to_pylist(), columns["window_end"].to_pylist(), strict=True)
        namespaces = [_TWO_LONGS.pack(start, end) for start, end in windows]
    else:
        namespaces = columns["namespace"].to_pylist() if namespace else [b""] * len(keys)
    operator = blake2b(uid.encode(), digest_size=8).digest()
    times = columns["timestamp"].to_pylist()
    timers = zip(columns["domain"].to_pylist(), times, groups, keys, namespaces, strict=True)
    for domain, timestamp, group, key, at in timers:
        if domain not in _TAGS:
            raise StateCorruptionError(f"{domain!r} is no time domain")
        yield timer_key(operator + _TAGS[domain], timestamp, group, key, at)
