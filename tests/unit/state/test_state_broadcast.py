from __future__ import annotations

import pytest

from penstock.common.errors import StateError
from penstock.common.typeinfo import Types
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.state.key_encoding import encode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore
from penstock.state.state import BroadcastState, ReadOnlyBroadcastState

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def test_broadcast_state_survives_a_restart() -> None:
    store = MemoryStore()
    backend = BroadcastStateBackend(store, "operator")
    state = backend.get_broadcast_state(RULES)
    state.put("a", 1)
    state["b"] = 2
    state.put_all([("c", 3)])
    del state["b"]
    backend.flush()
    state = BroadcastStateBackend(store, "operator").get_read_only_state(RULES)
    assert list(state.items()) == [("a", 1), ("c", 3)]
    assert (state["a"], "b" in state, list(state.keys()), list(state.values())) == (1, False, ["a", "c"], [1, 3])
    assert not state.is_empty()


def test_the_read_only_side_sees_what_was_put_and_cannot_change_it() -> None:
    backend = BroadcastStateBackend(MemoryStore(), "operator")
    written, read = backend.get_broadcast_state(RULES), backend.get_read_only_state(RULES)
    written.put("a", 1)
    assert read.get("a") == 1
    assert isinstance(read, ReadOnlyBroadcastState)
    assert not isinstance(read, BroadcastState)
    for change in (lambda: read.put("a", 2), lambda: read.put_all({"a": 2}), lambda: read.remove("a")):
        with pytest.raises(StateError, match="'rules' can only be read here"):
            change()
    with pytest.raises(StateError, match="'rules' can only be read here"):
        read.clear()
    written.clear()
    assert read.is_empty()


def test_broadcast_state_is_apart_from_keyed_state_of_the_same_name() -> None:
    store = MemoryStore()
    keyed, broadcast = KeyedStateBackend(store, "operator", 128), BroadcastStateBackend(store, "operator")
    keyed.current_key = encode_key("")
    keyed.get_map_state(RULES).put("a", 1)
    broadcast.get_broadcast_state(RULES).put("a", 2)
    keyed.flush()
    broadcast.flush()
    broadcast.drop_caches()
    keyed.drop_caches()
    assert keyed.get_map_state(RULES).get("a") == 1
    assert list(broadcast.get_broadcast_state(RULES).items()) == [("a", 2)]


def test_another_descriptor_is_refused() -> None:
    with pytest.raises(StateError, match="takes a MapStateDescriptor"):
        BroadcastStateBackend(MemoryStore(), "operator").get_broadcast_state(ValueStateDescriptor("x"))  # type: ignore[arg-type]
