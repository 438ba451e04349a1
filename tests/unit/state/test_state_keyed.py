from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock.common.errors import StateError, TypeMismatchError
from penstock.common.typeinfo import Types
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.key_encoding import encode_key
from penstock.state.key_groups import key_group
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore
from penstock.state.state import AggregatingState, ListState, MapState, ReducingState, ValueState


class Average:
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


VALUE = ValueStateDescriptor("value", Types.LONG())
LIST = ListStateDescriptor("list", Types.STRING())
MAP = MapStateDescriptor("map", Types.STRING(), Types.LONG())
SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
AVERAGE = AggregatingStateDescriptor("average", Average())


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def backend_on(store: MemoryStore, key: Any = "k", **options: Any) -> KeyedStateBackend:
    backend = KeyedStateBackend(store, "operator", 128, **options)
    backend.current_key = encode_key(key)
    return backend


def restarted(backend: KeyedStateBackend, store: MemoryStore, key: Any = "k") -> KeyedStateBackend:
    backend.flush()
    store.apply(store.changes(), "next")
    store.discard_changes()
    return backend_on(store, key)


def test_a_value_belongs_to_its_key_and_survives_a_restart(store: MemoryStore) -> None:
    backend = backend_on(store, "a")
    state = backend.get_state(VALUE)
    assert state.value() is None
    state.update(1)
    backend.current_key = encode_key("b")
    assert state.value() is None
    state.update(2)
    backend = restarted(backend, store, "a")
    state = backend.get_state(VALUE)
    assert state.value() == 1
    backend.current_key = encode_key("b")
    assert state.value() == 2
    state.clear()
    assert state.value() is None
    assert restarted(backend, store, "b").get_state(VALUE).value() is None
    assert len(list(store.scan(b"", b"\xff" * 9))) == 1


def test_updating_with_none_removes_the_value(store: MemoryStore) -> None:
    backend = backend_on(store)
    backend.get_state(VALUE).update(1)
    backend.flush()
    backend.get_state(VALUE).update(None)
    backend.flush()
    assert list(store.scan(b"", b"\xff" * 9)) == []


def test_a_list_keeps_its_order(store: MemoryStore) -> None:
    backend = backend_on(store)
    state = backend.get_list_state(LIST)
    assert list(state.get()) == []
    state.add("a")
    state.add_all(["b", "c"])
    assert list(state) == ["a", "b", "c"]
    backend = restarted(backend, store)
    state = backend.get_list_state(LIST)
    state.add("d")
    assert state.get() == ["a", "b", "c", "d"]
    state = restarted(backend, store).get_list_state(LIST)
    assert state.get() == ["a", "b", "c", "d"]
    state.update(["z"])
    assert state.get() == ["z"]


def test_what_a_list_gives_is_the_callers_own(store: MemoryStore) -> None:
    state = backend_on(store).get_list_state(LIST)
    state.add("a")
    for element in state.get():
        state.add(element * 2)
    state.get().append("x")
    assert state.get() == ["a", "aa"]


def test_clearing_a_list(store: MemoryStore) -> None:
    backend = backend_on(store)
    backend.get_list_state(LIST).clear()
    backend.flush()
    assert list(store.changes()) == [], "there was nothing to remove"
    state = backend.get_list_state(LIST)
    state.add("a")
    state.clear()
    assert state.get() == []
    state.add("b")
    state = restarted(backend, store).get_list_state(LIST)
    assert state.get() == ["b"]
    state.clear()
    assert state.get() == []


def test_adding_to_a_long_list_writes_little(store: MemoryStore) -> None:
    backend = backend_on(store)
    state = backend.get_list_state(ListStateDescriptor("list"))
    written = 0
    for n in range(512):
        state.add(n)
        backend.flush()
        written += sum(len(value or b"") for _, value in store.changes())
        store.apply(store.changes(), "next")
        store.discard_changes()
    entries = list(store.scan(b"", b"\xff" * 9))
    assert len(entries) <= 10
    assert written < 12 * sum(len(value) for _, value in entries)
    assert backend_on(store).get_list_state(ListStateDescriptor("list")).get() == list(range(512))
    state.clear()
    backend.flush()
    assert list(store.scan(b"", b"\xff" * 9)) == []


def test_a_map_is_read_entry_by_entry(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = backend_on(store)
    state = backend.get_map_state(MAP)
    state.put_all({"a": 1, "b": 2})
    state["c"] = 3
    state = restarted(backend, store).get_map_state(MAP)
    monkeypatch.setattr(store, "scan", lambda *_: pytest.fail("the whole map was read"))
    assert state.get("a") == 1
    assert state["b"] == 2
    assert "c" in state
    assert not state.contains("d")
    assert state.get("d") is None
    state.put("d", 4)
    del state["a"]
    assert state.get("d") == 4
    assert state.get("a") is None


def test_a_map_as_a_whole(store: MemoryStore) -> None:
    backend = backend_on(store)
    state = backend.get_map_state(MAP)
    assert state.is_empty()
    state.put_all({"bb": 2, "a": 1, "c": 3})
    expected = [("a", 1), ("c", 3), ("bb", 2)]
    assert list(state.items()) == expected
    backend = restarted(backend, store)
    state = backend.get_map_state(MAP)
    state.put("d", 4)
    state.remove("c")
    assert list(state.items()) == [("a", 1), ("d", 4), ("bb", 2)]
    assert list(state.keys()) == list(state) == ["a", "d", "bb"]
    assert list(state.values()) == [1, 4, 2]
    assert not state.is_empty()
    state.clear()
    assert state.is_empty()
    state.put("e", 5)
    state = restarted(backend, store).get_map_state(MAP)
    assert list(state.items()) == [("e", 5)]


def test_maps_keep_keys_apart_that_python_thinks_equal(store: MemoryStore) -> None:
    backend = backend_on(store)
    state = backend.get_map_state(MapStateDescriptor("map"))
    keys = [1, 1.0, True, b"\x02", (1,), (True,), None, "1"]
    for number, key in enumerate(keys):
        state.put(key, number)
    state.put(np.int64(1), "numpy")
    for fresh in (state, restarted(backend, store).get_map_state(MapStateDescriptor("map"))):
        assert [fresh.get(key) for key in keys] == ["numpy", 1, 2, 3, 4, 5, 6, 7]
        assert [type(key) for key in fresh] == [type(None), bool, int, float, str, bytes, tuple, tuple]


def test_none_is_a_value_of_a_map(store: MemoryStore) -> None:
    backend = backend_on(store)
    backend.get_map_state(MAP).put("a", None)
    state = restarted(backend, store).get_map_state(MAP)
    assert state.contains("a")
    assert list(state.items()) == [("a", None)]


def test_reducing_state(store: MemoryStore) -> None:
    backend = backend_on(store)
    state = backend.get_reducing_state(SUM)
    assert state.get() is None
    for value in (1, 2, 3):
        state.add(value)
    state = restarted(backend, store).get_reducing_state(SUM)
    state.add(4)
    assert state.get() == 10
    state.clear()
    assert state.get() is None


def test_reducing_state_takes_function_objects(store: MemoryStore) -> None:
    class Longest:
        def reduce(self, a: str, b: str) -> str:
            return max(a, b, key=len)

    state = backend_on(store).get_reducing_state(ReducingStateDescriptor("longest", Longest(), Types.STRING()))
    state.add("sea")
    state.add("ocean")
    assert state.get() == "ocean"


def test_aggregating_state(store: MemoryStore) -> None:
    backend = backend_on(store)
    state = backend.get_aggregating_state(AVERAGE)
    assert state.get() is None
    state.add(1)
    state.add(2)
    state = restarted(backend, store).get_aggregating_state(AVERAGE)
    state.add(6)
    assert state.get() == 3.0
    state.clear()
    assert state.get() is None


def test_handles_are_what_user_code_expects(store: MemoryStore) -> None:
    backend = backend_on(store)
    assert isinstance(backend.get_state(VALUE), ValueState)
    assert isinstance(backend.get_list_state(LIST), ListState)
    assert isinstance(backend.get_map_state(MAP), MapState)
    assert isinstance(backend.get_reducing_state(SUM), ReducingState)
    assert isinstance(backend.get_aggregating_state(AVERAGE), AggregatingState)
    assert backend.get_partitioned_state(MAP) is backend.get_map_state(MAP)
    assert backend.state_names == ["value", "list", "map", "sum", "average"]


@pytest.mark.parametrize(
    "use",
    [
        lambda b: b.get_state(VALUE).value(),
        lambda b: b.get_state(VALUE).update(1),
        lambda b: b.get_state(VALUE).clear(),
        lambda b: b.get_list_state(LIST).get(),
        lambda b: b.get_list_state(LIST).add("a"),
        lambda b: b.get_map_state(MAP).get("a"),
        lambda b: b.get_map_state(MAP).put("a", 1),
        lambda b: b.get_map_state(MAP).contains("a"),
        lambda b: b.get_reducing_state(SUM).add(1),
        lambda b: b.get_aggregating_state(AVERAGE).get(),
    ],
)
def test_state_without_a_key_is_an_error(store: MemoryStore, use: Callable[[KeyedStateBackend], Any]) -> None:
    backend = backend_on(store)
    use(backend)
    backend.current_key = None
    with pytest.raises(StateError, match="without a current key"):
        use(backend)


def test_one_name_for_two_kinds_is_an_error(store: MemoryStore) -> None:
    backend = backend_on(store)
    backend.get_state(ValueStateDescriptor("x"))
    with pytest.raises(StateError, match="'x' for two kinds of state: ValueState and MapState"):
        backend.get_map_state(MapStateDescriptor("x"))
    with pytest.raises(StateError, match="a ListStateDescriptor was expected"):
        backend.get_list_state(ValueStateDescriptor("x"))  # type: ignore[arg-type]


def test_two_handles_of_one_name_are_one_state(store: MemoryStore) -> None:
    backend = backend_on(store)
    backend.get_state(VALUE).update(1)
    assert backend.get_state(ValueStateDescriptor("value", Types.LONG())).value() == 1


def test_operators_and_names_do_not_share_state(store: MemoryStore) -> None:
    for uid in ("a", "b"):
        for name in ("x", "y"):
            backend = KeyedStateBackend(store, uid, 128)
            backend.current_key = encode_key("k")
            state = backend.get_state(ValueStateDescriptor(name))
            assert state.value() is None
            state.update(uid + name)
            backend.flush()
    assert len(store.changes()) == 4


def test_a_value_of_another_type_is_refused_where_it_is_set(store: MemoryStore) -> None:
    backend = backend_on(store)
    with pytest.raises(TypeMismatchError, match="'many' of class str is not an int"):
        backend.get_state(VALUE).update("many")
    with pytest.raises(TypeMismatchError, match="is not a str"):
        backend.get_list_state(LIST).add(1)
    with pytest.raises(TypeMismatchError, match="is not a str"):
        backend.get_map_state(MAP).put(1, 1)
    with pytest.raises(TypeMismatchError, match="is not an int"):
        backend.get_map_state(MAP).put("a", "b")
    assert backend.get_state(VALUE).value() is None


def test_a_value_that_cannot_be_saved_is_named(store: MemoryStore) -> None:
    backend = backend_on(store, ("k", 1))
    backend.get_state(VALUE).update(2**70)
    with pytest.raises(TypeMismatchError, match=r"state 'value', key \('k', 1\): .* does not fit into Long"):
        backend.flush()
    backend.drop_caches()
    with pytest.raises(StateError, match="state 'generator'"):
        backend.get_state(ValueStateDescriptor("generator")).update(n for n in range(3))


def test_float_state_is_not_rounded_by_a_restart(store: MemoryStore) -> None:
    backend = backend_on(store)
    descriptor = ValueStateDescriptor("ratio", Types.FLOAT())
    state = backend.get_state(descriptor)
    state.update(0.1)
    assert state.value() == 0.1
    assert restarted(backend, store).get_state(descriptor).value() == 0.1


def test_dropped_caches_are_read_again(store: MemoryStore) -> None:
    backend = backend_on(store)
    state, entries, elements = backend.get_state(VALUE), backend.get_map_state(MAP), backend.get_list_state(LIST)
    state.update(1)
    entries.put("a", 1)
    elements.add("a")
    backend.flush()
    state.update(2)
    entries.put("a", 2)
    elements.add("b")
    backend.drop_caches()
    assert (state.value(), entries.get("a"), elements.get()) == (1, 1, ["a"])
    backend.flush()
    assert len(store.changes()) == 3


@pytest.mark.parametrize("limit", [0, 5, 1000])
def test_a_bounded_cache_changes_no_result(store: MemoryStore, limit: int) -> None:
    backend = backend_on(store, cache_limit=limit)
    state, entries, elements = backend.get_state(VALUE), backend.get_map_state(MAP), backend.get_list_state(LIST)
    for epoch in range(4):
        for n in range(10):
            backend.current_key = encode_key(n * (epoch + 1) % 10)
            state.update((state.value() or 0) + 1)
            entries.put("count", (entries.get("count") or 0) + 1)
            elements.add(str(epoch))
        backend.flush()
    totals = []
    for n in range(10):
        backend.current_key = encode_key(n)
        assert state.value() == entries.get("count") == len(elements.get())
        totals.append(state.value())
    assert sum(totals) == 40


def test_a_cache_over_its_limit_keeps_what_the_epoch_used(store: MemoryStore) -> None:
    backend = backend_on(store, cache_limit=10)
    state = backend.get_state(VALUE)
    for n in range(9):
        backend.current_key = encode_key(n)
        state.update(n)
    backend.flush()
    for n in range(7, 12):
        backend.current_key = encode_key(n)
        state.update(n)
    backend.flush()
    assert sorted(state._cache) == [encode_key(n) for n in range(7, 12)]


def test_every_key_that_has_state_is_visited(store: MemoryStore) -> None:
    backend = backend_on(store)
    for n in range(20):
        backend.current_key = encode_key(n)
        backend.get_map_state(MAP).put_all({"a": n, "b": n})
    backend.flush()
    backend.current_key = encode_key(3)
    backend.get_map_state(MAP).clear()
    backend.current_key = None
    seen = {}

    def double(key: int, state: MapState[str, int]) -> None:
        seen[key] = state.get("a")
        state.put("a", state.get("a") * 2)

    backend.apply_to_all_keys(MAP, double)
    assert seen == {n: n for n in range(20) if n != 3}
    assert backend.current_key is None
    backend.current_key = encode_key(7)
    assert backend.get_map_state(MAP).get("a") == 14


def test_broadcast_state_of_the_same_name_is_no_key(store: MemoryStore) -> None:
    backend, broadcast = backend_on(store), BroadcastStateBackend(store, "operator")
    backend.get_map_state(MAP).put("a", 1)
    broadcast.get_broadcast_state(MAP).put("b", 2)
    broadcast.flush()
    seen = []
    backend.apply_to_all_keys(MAP, lambda key, state: seen.append(key))
    assert seen == ["k"]


def test_where_state_is_in_the_store(store: MemoryStore) -> None:
    backend = backend_on(store)
    backend.get_state(VALUE).update(1)
    backend.get_map_state(MAP).put("a", 1)
    backend.flush()
    key = encode_key("k")
    group = key_group(key, 128).to_bytes(2, "big")
    tail = group + len(key).to_bytes(4, "big") + key
    assert [entry.hex() for entry, _ in store.changes()] == sorted(
        [
            "96d16ade6fd58c8e" + "82466e03" + tail.hex(),
            "96d16ade6fd58c8e" + "3a52519b" + tail.hex() + encode_key("a").hex(),
        ]
    )
