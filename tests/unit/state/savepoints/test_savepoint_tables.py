"""Entries of state as tables, and back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.time import Instant
from penstock.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig, ValueStateDescriptor, encode_key
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.catalogue import described_states, is_description, prefix_of
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore
from penstock.state.namespaced_keys import NamespacedKeys, namespace_suffix
from penstock.state.operator_state import OperatorStateBackend
from penstock.state.savepoints.entry_rows import rows_of
from penstock.state.savepoints.key_columns import key_columns, key_form, keys_from_columns
from penstock.state.savepoints.row_entries import entries_of, table_schema
from penstock.state.time_buckets import TimeBuckets

EVERYTHING = (b"", b"\xff" * 64)


class WindowBackend(KeyedStateBackend):
    keys_class = NamespacedKeys


def round_trip(store: MemoryStore, name: str) -> Any:
    """The entries of a state after they were a table; returns the table."""
    everything = list(store.scan(*EVERYTHING))
    (description,) = [each for each in described_states(everything) if each.name == name]
    prefix = prefix_of("op", name)
    entries = [entry for entry in everything if entry[0].startswith(prefix)]
    found = rows_of(entries, description.schema, 3)
    assert found is not None
    form, table = found
    assert form.value != "raw"
    assert table.schema.equals(table_schema(form, description.schema))
    again = list(entries_of(table, form, description.schema, prefix, 128))
    other = MemoryStore()
    for subtask, key, value in again:
        assert subtask == (3 if form.scope == "operator" else 0)
        other.put(key, value)
    for key, value in everything:
        if is_description(key) or key[8:12] == b"\0ttl":
            other.put(key, value)
    return form, table, other


KEYS: list[Any] = ["a", "b", 1, 2.5, ("x", 1), None, b"bytes", dt.date(2020, 1, 2)]
VALUES: list[tuple[Any, Any]] = [
    (Types.LONG(), 7),
    (Types.STRING(), "ä"),
    (Types.FLOAT(), 0.1),
    (Types.BOOLEAN(), True),
    (Types.BIG_DEC(), Decimal("1.10")),
    (Types.BIG_INT(), 1 << 100),
    (Types.INSTANT(), Instant(5, 6)),
    (Types.SQL_DATE(), dt.date(2020, 1, 2)),
    (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, 4, 5, 6)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\x01"),
    (Types.TUPLE([Types.INT(), Types.STRING()]), (1, None)),
    (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.LIST(Types.STRING())]), Row(x=1, y=["a"])),
    (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}),
    (Types.ROW_NAMED(["o"], [Types.PICKLED_BYTE_ARRAY()]), Row(o={1, 2})),
    (None, {"any": {1, 2}}),
]


@pytest.mark.parametrize(("type_info", "value"), VALUES)
@pytest.mark.parametrize("expires", [False, True])
def test_values_lists_and_maps_of_every_type(type_info: Any, value: Any, expires: bool) -> None:
    def descriptor(kind: Any, name: str, *types: Any) -> Any:
        made = kind(name, *types)
        if expires:
            made.enable_time_to_live(StateTtlConfig.new_builder("1 h").build())
        return made

    values = descriptor(ValueStateDescriptor, "v", type_info)
    lists = descriptor(ListStateDescriptor, "l", type_info)
    maps = descriptor(MapStateDescriptor, "m", Types.STRING(), type_info)
    store = MemoryStore()
    state = KeyedStateBackend(store, "op", 128, clock=lambda: 5)
    for key in KEYS:
        state.current_key = encode_key(key)
        state.get_state(values).update(value)
        state.get_list_state(lists).update([value, value])
        state.get_map_state(maps).put_all({"p": value, "q": value})
        state.flush()
        state.get_list_state(lists).add(value)
        state.flush()
    state.catalogue.flush()
    for descriptor_of, read, expected in (
        (values, lambda handle: handle.value(), value),
        (lists, lambda handle: list(handle.get()), [value] * 3),
        (maps, lambda handle: dict(handle.items()), {"p": value, "q": value}),
    ):
        form, table, other = round_trip(store, descriptor_of.name)
        assert form.value == ("encoded" if type_info is None else "columns")
        assert ("last_use" in table.column_names) == (expires and not (type_info is None and descriptor_of is lists))
        again = KeyedStateBackend(other, "op", 128, clock=lambda: 5)
        handle = again.get_partitioned_state(descriptor_of)
        for key in KEYS:
            again.current_key = encode_key(key)
            assert read(handle) == expected


def test_columns_are_typed_where_the_keys_are() -> None:
    store = MemoryStore()
    state = KeyedStateBackend(store, "op", 128)
    for number in range(3):
        state.current_key = encode_key((f"user-{number}", number))
        state.get_state(ValueStateDescriptor("v", Types.LONG())).update(number)
    state.flush()
    state.catalogue.flush()
    _, table, _ = round_trip(store, "v")
    rows = sorted(table.to_pylist(), key=lambda row: row["key_1"])
    assert [(row["key_0"], row["key_1"], row["value"]) for row in rows] == [(f"user-{n}", n, n) for n in range(3)]
    assert table.column_names == ["key_group", "key_0", "key_1", "value"]


def test_windows_have_a_start_and_an_end() -> None:
    store = MemoryStore()
    state = WindowBackend(store, "op", 128)
    window = (100).to_bytes(8, "big") + (200).to_bytes(8, "big")
    state.current_key = encode_key("a") + namespace_suffix(window)
    state.get_state(ValueStateDescriptor("v", Types.LONG())).update(4)
    state.flush()
    state.catalogue.flush()
    _, table, other = round_trip(store, "v")
    (row,) = table.drop_columns(["key_group"]).to_pylist()
    assert row == {"key": "a", "window_start": 100, "window_end": 200, "value": 4}
    assert set(store.scan(*EVERYTHING)) == set(other.scan(*EVERYTHING))


def test_state_without_a_key() -> None:
    store = MemoryStore()
    broadcast = BroadcastStateBackend(store, "op")
    broadcast.get_broadcast_state(MapStateDescriptor("rules", Types.STRING(), Types.LONG())).put("a", 1)
    operator = OperatorStateBackend(store, "op", broadcast)
    operator.get_list_state(ListStateDescriptor("held", Types.LONG())).update([1, 2])
    operator.get_list_state(ListStateDescriptor("objects")).update([{1}, None])
    operator.flush()
    _, table, _ = round_trip(store, "rules")
    assert table.to_pylist() == [{"map_key": "a", "value": 1}]
    _, table, other = round_trip(store, "held")
    assert table.to_pylist() == [{"subtask": 3, "position": n, "value": n + 1} for n in range(2)]
    again = OperatorStateBackend(other, "op", BroadcastStateBackend(other, "op"))
    assert again.get_list_state(ListStateDescriptor("held", Types.LONG())).get() == [1, 2]
    form, table, other = round_trip(store, "objects")
    assert form.value == "encoded"
    assert len(table) == 2
    again = OperatorStateBackend(other, "op", BroadcastStateBackend(other, "op"))
    assert again.get_list_state(ListStateDescriptor("objects")).get() == [{1}, None]


@pytest.mark.parametrize("type_info", [Types.LONG(), None])
def test_records_by_time(type_info: Any) -> None:
    store = MemoryStore()
    buckets = TimeBuckets(store, "op", "b", 128, type_info)
    for time in (5, 7, -5):
        for value in (1, 2):
            buckets.add(encode_key("a"), time, value)
    buckets.flush()
    buckets.catalogue.flush()
    _, table, other = round_trip(store, "b")
    assert sorted(set(table["time"].to_pylist())) == [-5, 5, 7]
    again = TimeBuckets(other, "op", "b", 128, type_info).of(encode_key("a"))
    assert again.records == {-5: [1, 2], 5: [1, 2], 7: [1, 2]}


def test_what_does_not_fit_its_description_is_shown_as_it_is() -> None:
    store = MemoryStore()
    state = KeyedStateBackend(store, "op", 128)
    state.current_key = encode_key("a")
    state.get_state(ValueStateDescriptor("v", Types.LONG())).update(4)
    state.flush()
    state.catalogue.flush()
    (description,) = described_states(store.scan(*EVERYTHING))
    prefix = prefix_of("op", "v")
    key, value = next(entry for entry in store.scan(*EVERYTHING) if entry[0].startswith(prefix))
    odd = [(key + b"more", value)]
    found = rows_of(odd, description.schema, 0)
    assert found is not None
    form, table = found
    assert form.value == "raw"
    assert [(each, data) for _, each, data in entries_of(table, form, description.schema, prefix, 128)] == odd


plain_keys = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.decimals(allow_nan=False),
    st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.text()),
)


@given(st.lists(plain_keys, min_size=1, max_size=8))
def test_all_keys_come_back_as_they_were(keys: list[Any]) -> None:
    encoded = [encode_key(key) for key in keys]
    form = key_form(encoded)
    columns = key_columns(form, encoded, "key")
    assert keys_from_columns(form, columns, "key") == encoded


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8))
def test_bytes_that_are_no_keys_come_back_too(keys: list[bytes]) -> None:
    form = key_form(keys)
    assert keys_from_columns(form, key_columns(form, keys, "key"), "key") == keys
