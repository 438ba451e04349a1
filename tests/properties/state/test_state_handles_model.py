from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from penstock.common.typeinfo import Types
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.state.key_encoding import encode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore

keys = st.sampled_from(["a", "b", 1, 1.0])
map_keys = st.sampled_from(["x", "y", 1, True, (1, 2), None])
numbers = st.integers(-3, 3)


class HandlesModel(RuleBasedStateMachine):
    """State of all kinds against plain Python, through flushes, evictions, restarts and failed epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.committed: dict[tuple[str, bytes], Any] = {}
        self.current: dict[tuple[str, bytes], Any] = {}
        self.epoch = 0
        self.open()

    def open(self) -> None:
        self.backend = KeyedStateBackend(self.store, "operator", 128, cache_limit=3)
        self.value = self.backend.get_state(ValueStateDescriptor("value", Types.LONG()))
        self.list = self.backend.get_list_state(ListStateDescriptor("list"))
        self.map = self.backend.get_map_state(MapStateDescriptor("map"))

    def at(self, kind: str, key: Any, default: Any = None) -> Any:
        self.backend.current_key = encode_key(key)
        return self.current.setdefault((kind, encode_key(key)), default)

    def set(self, kind: str, key: Any, value: Any) -> None:
        self.current[kind, encode_key(key)] = value

    @rule(key=keys)
    def read(self, key: Any) -> None:
        assert self.at("value", key) == self.value.value()
        assert self.at("list", key, []) == self.list.get()
        entries = self.at("map", key, {})
        assert self.map.items() == [value for _, value in sorted(entries.items())]
        assert self.map.is_empty() == (not entries)

    @rule(key=keys, map_key=map_keys)
    def read_entry(self, key: Any, map_key: Any) -> None:
        entry = self.at("map", key, {}).get(encode_key(map_key))
        assert self.map.get(map_key) == (None if entry is None else entry[1])
        assert self.map.contains(map_key) == (entry is not None)

    @rule(key=keys, value=st.none() | numbers)
    def update(self, key: Any, value: int | None) -> None:
        self.at("value", key)
        self.value.update(value)
        self.set("value", key, value)

    @rule(key=keys, values=st.lists(numbers, max_size=4))
    def add(self, key: Any, values: list[int]) -> None:
        elements = self.at("list", key, [])
        self.list.add_all(values)
        self.set("list", key, elements + values)

    @rule(key=keys, values=st.lists(numbers, max_size=4))
    def replace(self, key: Any, values: list[int]) -> None:
        self.at("list", key, [])
        self.list.update(values)
        self.set("list", key, values)

    @rule(key=keys, map_key=map_keys, value=st.none() | numbers)
    def put(self, key: Any, map_key: Any, value: Any) -> None:
        entries = self.at("map", key, {})
        self.map.put(map_key, value)
        self.set("map", key, entries | {encode_key(map_key): (map_key, value)})

    @rule(key=keys, map_key=map_keys)
    def remove(self, key: Any, map_key: Any) -> None:
        entries = self.at("map", key, {})
        self.map.remove(map_key)
        self.set("map", key, {k: v for k, v in entries.items() if k != encode_key(map_key)})

    @rule(key=keys)
    def clear_map(self, key: Any) -> None:
        self.at("map", key, {})
        self.map.clear()
        self.set("map", key, {})

    @rule()
    def flush(self) -> None:
        self.backend.flush()

    @rule(restart=st.booleans())
    def commit(self, restart: bool) -> None:
        self.backend.flush()
        self.epoch += 1
        self.store.apply(self.store.changes(), str(self.epoch))
        self.store.discard_changes()
        self.committed = dict(self.current)
        if restart:
            self.open()

    @rule()
    def fail(self) -> None:
        self.store.discard_changes()
        self.backend.drop_caches()
        self.current = dict(self.committed)


TestHandles = HandlesModel.TestCase
TestHandles.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
