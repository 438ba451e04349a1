from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.errors import StateError, TypeMismatchError
from penstock.common.typeinfo import Types
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor
from penstock.state.memory import MemoryStore
from penstock.state.operator_state import OperatorStateBackend, split_evenly, unite
from penstock.state.ttl_config import StateTtlConfig

NUMBERS = ListStateDescriptor("numbers", Types.LONG())


def backend_on(store: MemoryStore, union_lists: Any = None) -> OperatorStateBackend:
    return OperatorStateBackend(store, "operator", BroadcastStateBackend(store, "operator"), union_lists)


def committed(backend: OperatorStateBackend, store: MemoryStore) -> None:
    backend.flush()
    store.apply(store.changes(), "next")
    store.discard_changes()


def test_a_list_is_the_subtasks_own() -> None:
    store = MemoryStore()
    backend = backend_on(store)
    backend.get_list_state(NUMBERS).add_all([1, 2])
    backend.get_broadcast_state(MapStateDescriptor("rules")).put("a", 1)
    committed(backend, store)
    backend = backend_on(store)
    state = backend.get_list_state(NUMBERS)
    assert state.get() == [1, 2]
    assert list(backend.get_broadcast_state(MapStateDescriptor("rules")).items()) == [("a", 1)]
    state.update([3])
    state.add(4)
    committed(backend, store)
    assert backend_on(store).get_list_state(NUMBERS).get() == [3, 4]
    state.clear()
    committed(backend, store)
    assert backend_on(store).get_list_state(NUMBERS).get() == []


def test_a_union_list_is_that_of_all() -> None:
    saved = []
    for numbers in ([1, 2], [], [3]):
        backend = backend_on(MemoryStore())
        state = backend.get_union_list_state(NUMBERS)
        assert state.get() == []
        state.add_all(numbers)
        (text,) = backend.saved_union_lists().values()
        saved.append(text)
    (key,) = backend.saved_union_lists()
    backend = backend_on(MemoryStore(), {key: saved})
    state = backend.get_union_list_state(NUMBERS)
    assert state.get() == [1, 2, 3]
    state.update([9])
    state.add(10)
    (text,) = backend.saved_union_lists().values()
    assert backend_on(MemoryStore(), {key: [text]}).get_union_list_state(NUMBERS).get() == [9, 10]
    state.clear()
    assert state.get() == []


def test_names_are_known() -> None:
    backend = backend_on(MemoryStore())
    backend.get_list_state(NUMBERS)
    backend.get_union_list_state(ListStateDescriptor("union"))
    backend.get_broadcast_state(MapStateDescriptor("rules"))
    assert backend.get_registered_state_names() == {"numbers", "union"}
    assert backend.get_registered_broadcast_state_names() == {"rules"}
    assert backend.get_list_state(NUMBERS) is backend.get_list_state(NUMBERS)


def test_one_name_for_both_modes_is_refused() -> None:
    backend = backend_on(MemoryStore())
    backend.get_list_state(NUMBERS)
    with pytest.raises(StateError, match="'numbers' for list state and for union list state"):
        backend.get_union_list_state(NUMBERS)


def test_another_mode_than_was_saved_is_refused() -> None:
    store = MemoryStore()
    backend = backend_on(store)
    backend.get_list_state(NUMBERS).add(1)
    committed(backend, store)
    with pytest.raises(StateError, match="saved as list state and is now asked for as union list state"):
        backend_on(store).get_union_list_state(NUMBERS)
    backend = backend_on(MemoryStore())
    backend.get_union_list_state(NUMBERS)
    union_lists = {key: [text] for key, text in backend.saved_union_lists().items()}
    with pytest.raises(StateError, match="saved as union list state and is now asked for as list state"):
        backend_on(MemoryStore(), union_lists).get_list_state(NUMBERS)


@pytest.mark.parametrize("mode", ["get_list_state", "get_union_list_state"])
def test_what_is_asked_for_is_checked(mode: str) -> None:
    backend = backend_on(MemoryStore())
    with pytest.raises(StateError, match="a ListStateDescriptor was expected"):
        getattr(backend, mode)(MapStateDescriptor("m"))
    with pytest.raises(TypeMismatchError, match="is not an int"):
        getattr(backend, mode)(NUMBERS).add("x")
    expiring = ListStateDescriptor("expiring")
    expiring.enable_time_to_live(StateTtlConfig.new_builder(1).build())
    with pytest.raises(StateError, match="only keyed state expires"):
        getattr(backend, mode)(expiring)


def test_a_union_list_that_cannot_be_saved_is_named() -> None:
    backend = backend_on(MemoryStore())
    backend.get_union_list_state(NUMBERS).add(2**70)
    with pytest.raises(StateError, match="union list state 'numbers': cannot save"):
        backend.saved_union_lists()


# Other parallelisms


def test_lists_are_split_as_flink_splits_them() -> None:
    assert split_evenly([[1, 2, 3], [4, 5]], 3) == [[1, 2], [3, 4], [5]]
    assert split_evenly([[1, 2, 3], [4, 5]], 3, first=2) == [[3, 4], [5], [1, 2]]
    assert split_evenly([[1]], 3) == [[1], [], []]
    assert unite([[1, 2], [], [3]]) == [1, 2, 3]


@given(st.lists(st.lists(st.integers(), max_size=6), max_size=6), st.integers(1, 8), st.integers(0, 7))
def test_nothing_is_lost_or_doubled(lists: list[list[int]], parallelism: int, first: int) -> None:
    split = split_evenly(lists, parallelism, first % parallelism)
    assert len(split) == parallelism
    assert sorted(unite(split)) == sorted(unite(lists))
    lengths = [len(each) for each in split]
    assert max(lengths) - min(lengths) <= 1
    turned = split[first % parallelism :] + split[: first % parallelism]
    assert unite(turned) == unite(lists)
