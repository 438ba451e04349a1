"""Descriptions of state beside the state."""

from __future__ import annotations

from penstock.common import Types
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.catalogue import described_states, prefix_of
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore
from penstock.state.state_schema import StateSchema

EVERYTHING = (b"", b"\xff" * 64)


def test_states_say_what_they_are() -> None:
    store = MemoryStore()
    keyed = KeyedStateBackend(store, "counter", 128)
    keyed.get_state(ValueStateDescriptor("count", Types.LONG()))
    keyed.get_list_state(ListStateDescriptor("seen"))
    broadcast = BroadcastStateBackend(store, "counter")
    broadcast.get_broadcast_state(MapStateDescriptor("rules", Types.STRING(), Types.LONG()))
    keyed.catalogue.flush()
    broadcast.catalogue.flush()
    found = {each.name: each for each in described_states(store.scan(*EVERYTHING))}
    assert {name: (each.uid, each.kind, each.type) for name, each in found.items()} == {
        "count": ("counter", "ValueState", "Long"),
        "seen": ("counter", "ListState", "object"),
        "rules": ("counter", "BroadcastState", str(Types.MAP(Types.STRING(), Types.LONG()))),
    }
    assert found["count"].schema == StateSchema("value", "LONG")
    assert found["seen"].schema == StateSchema("list", "OBJECT")
    assert found["rules"].schema == StateSchema("map", "LONG", key="STRING")


def test_a_description_is_written_once() -> None:
    store = MemoryStore()
    backend = KeyedStateBackend(store, "counter", 128)
    backend.get_state(ValueStateDescriptor("count", Types.LONG()))
    backend.catalogue.flush()
    store.apply(store.changes(), "first")
    store.discard_changes()
    backend.catalogue.flush()
    assert store.changes() == []
    again = KeyedStateBackend(store, "counter", 128)
    again.get_state(ValueStateDescriptor("count", Types.DOUBLE()))
    again.catalogue.flush()
    assert len(store.changes()) == 1


def test_entries_are_found_by_the_prefix_of_their_state() -> None:
    store = MemoryStore()
    backend = KeyedStateBackend(store, "counter", 128)
    state = backend.get_state(ValueStateDescriptor("count", Types.LONG()))
    backend.current_key = b"\x07\x00\x00\x00\x01a"
    state.update(1)
    backend.flush()
    ((key, _),) = list(store.scan(*EVERYTHING))
    assert key.startswith(prefix_of("counter", "count"))
