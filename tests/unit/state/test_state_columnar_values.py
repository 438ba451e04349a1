"""State of many keys at once: the same entries as `ValueState`, in bulk."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Row, Time, Types
from penstock.common.errors import StateError, TypeMismatchError, UnsupportedError
from penstock.common.typeinfo import TypeInformation
from penstock.state import KeyedStateBackend, LmdbStore, MemoryStore, StateStore, StateTtlConfig, ValueStateDescriptor
from penstock.state.columnar_keys import ColumnarKeys
from penstock.state.columnar_values import ColumnarValueState
from penstock.state.key_encoding import encode_key

STRING = Types.STRING()
LONG = ValueStateDescriptor("n", Types.LONG())


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    return MemoryStore() if request.param == "memory" else LmdbStore(tmp_path / "store")


def columnar(
    store: StateStore, descriptor: ValueStateDescriptor = LONG, key_type: TypeInformation | None = STRING
) -> ColumnarValueState:
    return KeyedStateBackend(store, "op", 128).get_columnar_state(descriptor, ColumnarKeys(key_type, 0, 1, 128).encode)


def commit(store: StateStore) -> None:
    changes = store.changes()
    store.discard_changes()
    store.apply(changes, "next")


def test_values_are_read_back_before_and_after_a_commit(store: StateStore) -> None:
    state = columnar(store)
    assert state.get_many(["a", "b"]).to_pylist() == [None, None]
    state.put_many(pa.array(["a", "b"]), pa.array([1, 2]))
    assert state.get_many(["b", "x", "a"]).to_pylist() == [2, None, 1]
    commit(store)
    state = columnar(store)
    state.put_many(["b"], [20])
    state.clear_many(["a"])
    assert state.get_many(["a", "b", "c"]).to_pylist() == [None, 20, None]


def test_long_keys(store: StateStore) -> None:
    state, keys = columnar(store), ["x" * 600, "x" * 601, "y"]
    state.put_many(keys, [1, 2, 3])
    commit(store)
    state.put_many(keys[:1], [10])
    assert state.get_many([*keys, "x" * 602]).to_pylist() == [10, 2, 3, None]


def test_texts_of_which_most_are_missing(store: StateStore) -> None:
    state = columnar(store, ValueStateDescriptor("text", STRING))
    state.put_many(["a"], [""])
    assert state.get_many(["a", "b", "c", "d"]).to_pylist() == ["", None, None, None]


def test_keys_may_come_more_than_once(store: StateStore) -> None:
    state = columnar(store)
    state.put_many(pd.Series(["a", "b", "a"]), np.array([1, 2, 3]))
    assert state.get_many(["a", "a", "b"]).to_pylist() == [3, 3, 2]
    state.put_many(["a", "b", "a"], [5, None, None])
    assert state.get_many(["a", "b"]).to_pylist() == [None, None]


def test_floats_that_are_one_key(store: StateStore) -> None:
    state = columnar(store, key_type=Types.DOUBLE())
    state.put_many([0.0, 1.0, -0.0], [1, 2, 3])
    assert state.get_many([-0.0, 0.0, 1]).to_pylist() == [3, 3, 2]


@pytest.mark.parametrize(
    ("type_info", "values"),
    [
        (Types.BYTE(), [1, None, -128]),
        (Types.SHORT(), [1, None, -(1 << 15)]),
        (Types.INT(), [1, None, -(1 << 31)]),
        (Types.LONG(), [1, None, -(1 << 63)]),
        (Types.FLOAT(), [0.5, None, float("inf")]),
        (Types.DOUBLE(), [0.1, None, -0.0]),
        (Types.BOOLEAN(), [True, None, False]),
        (Types.STRING(), ["", None, "straße"]),
        (Types.CHAR(), ["x", None, "ß"]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"", None, b"\0\1"]),
        (Types.BIG_INT(), [10**30, None, -1]),
        (Types.SQL_DATE(), [dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
        (Types.SQL_TIMESTAMP(), [dt.datetime(2024, 2, 29, 1), None, dt.datetime(1969, 1, 1)]),
        (Types.LIST(Types.LONG()), [[1, 2], None, []]),
        (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), [Row(a=1, b="x"), None, Row(a=None, b=None)]),
    ],
    ids=lambda given: repr(given) if isinstance(given, TypeInformation) else "",
)
def test_the_entries_are_those_of_value_state(type_info: TypeInformation, values: list[Any]) -> None:
    store, descriptor, keys = MemoryStore(), ValueStateDescriptor("n", type_info), ["a", "b", "c"]
    backend = KeyedStateBackend(store, "op", 128)
    handle = backend.get_state(descriptor)
    for key, value in zip(keys, values, strict=True):
        backend.current_key = encode_key(key)
        handle.update(value)
    backend.flush()
    one_by_one = list(store.changes())
    column = columnar(store, descriptor).get_many(keys)
    assert column.is_null().to_pylist() == [value is None for value in values]
    other = MemoryStore()
    columnar(other, descriptor).put_many(keys, column)
    assert list(other.changes()) == one_by_one


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), key_type=st.sampled_from([Types.LONG(), Types.STRING(), None]))
def test_it_is_a_dict(data: st.DataObject, key_type: TypeInformation | None) -> None:
    integers = st.integers(-3, 3) if data.draw(st.booleans()) else st.integers(-(1 << 63), (1 << 63) - 1)
    keys = st.lists(integers if key_type == Types.LONG() else st.text(max_size=2).filter(str.isprintable), max_size=6)
    state, model = columnar(MemoryStore(), key_type=key_type), dict[Any, int | None]()
    for _ in range(data.draw(st.integers(1, 5))):
        some = data.draw(keys)
        match data.draw(st.sampled_from(["get", "put", "clear"])):
            case "put":
                values = data.draw(st.lists(st.none() | st.integers(0, 9), min_size=len(some), max_size=len(some)))
                state.put_many(some, values)
                model.update(zip(some, values, strict=True))
            case "clear":
                state.clear_many(some)
                model.update(dict.fromkeys(some))
            case _:
                assert state.get_many(some).to_pylist() == [model.get(key) for key in some]


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (lambda state: state.put_many(["a"], [1, 2]), StateError, "1 keys and 2 values"),
        (lambda state: state.put_many(["a"], ["x"]), TypeMismatchError, "values for state 'n'"),
        (lambda state: state.get_many([1]), TypeMismatchError, "declared type String"),
    ],
)
def test_what_does_not_fit(misuse: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        misuse(columnar(MemoryStore()))


def test_keys_of_another_subtask_are_refused() -> None:
    keys = ColumnarKeys(Types.LONG(), 0, 2, 128)
    own = [n for n in range(100) if _accepts(keys, n)]
    assert 20 < len(own) < 80
    with pytest.raises(StateError, match="belongs to another subtask"):
        keys.encode(list(range(100)))


def _accepts(keys: ColumnarKeys, key: int) -> bool:
    try:
        keys.encode([key])
    except StateError:
        return False
    return True


def test_what_state_of_batches_cannot_be() -> None:
    untyped = ValueStateDescriptor("u")
    with pytest.raises(StateError, match="'u' of a function of batches needs a declared type"):
        columnar(MemoryStore(), untyped)
    expiring = ValueStateDescriptor("t", Types.LONG())
    expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    backend = KeyedStateBackend(MemoryStore(), "op", 128, clock=lambda: 0)
    with pytest.raises(UnsupportedError, match="'t' has a time to live"):
        backend.get_columnar_state(expiring, ColumnarKeys(None, 0, 1, 128).encode)


@pytest.mark.parametrize(
    ("key_type", "keys"),
    [
        (Types.LONG(), [3, -1, (1 << 63) - 1]),
        (Types.INT(), [3, None, -1]),
        (Types.STRING(), ["", "straße", None]),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), [(1, "a"), (2, None)]),
        (None, [1, "a", (1, 2.5)]),
    ],
)
def test_keys_come_back(key_type: TypeInformation | None, keys: list[Any]) -> None:
    decoded = ColumnarKeys(key_type, 0, 1, 128).decode([encode_key(key) for key in keys])
    if not isinstance(decoded, list):
        decoded = [tuple(key.values()) if isinstance(key, dict) else key for key in decoded.to_pylist()]
    assert decoded == keys
