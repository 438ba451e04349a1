"""State with a time to live against dicts with timestamps, through epochs, restarts, failures and clean-up."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.common.typeinfo import Types
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.key_encoding import encode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory import MemoryStore
from penstock.state.ttl_config import StateTtlConfig

TTL = 10
keys = st.sampled_from("abc")
map_keys = st.sampled_from(["x", "y", 1, None])
numbers = st.integers(-3, 3)


class Sums:
    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + value]

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]


class TtlModel(RuleBasedStateMachine):
    """Values that have expired are never returned, so when they are removed must not be seen.

    The oracle: (kind, key) to a dict of numbered or named elements, each a pair of its last use and a value.
    """

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.now = 1_000
        self.committed_at = self.now
        self.epoch = 0
        self.number = 0
        self.current: dict[tuple[str, str], dict[Any, tuple[int, Any]]] = {}
        self.committed: dict[tuple[str, str], dict[Any, tuple[int, Any]]] = {}

    @initialize(reads_count=st.booleans(), cleanup=st.sampled_from(["none", "snapshot", "default", "eager"]))
    def configure(self, reads_count: bool, cleanup: str) -> None:
        builder = StateTtlConfig.new_builder(TTL)
        self.reads_count = reads_count
        if reads_count:
            builder.update_ttl_on_read_and_write()
        if cleanup in ("none", "snapshot"):
            builder.disable_cleanup_in_background()
        if cleanup == "snapshot":
            builder.cleanup_full_snapshot()
        if cleanup == "eager":
            builder.cleanup_incrementally(2, True)
        self.cleanup = cleanup
        self.config = builder.build()
        self.open()

    def open(self) -> None:
        self.backend = KeyedStateBackend(self.store, "operator", 128, cache_limit=3, clock=lambda: self.now)
        descriptors = (
            ValueStateDescriptor("value", Types.LONG()),
            ListStateDescriptor("list"),
            MapStateDescriptor("map"),
            ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG()),
            AggregatingStateDescriptor("aggregate", Sums()),
        )
        for descriptor in descriptors:
            descriptor.enable_time_to_live(self.config)
        self.states: dict[str, Any] = {each.name: self.backend.get_partitioned_state(each) for each in descriptors}

    def at(self, kind: str, key: str, *, reads: bool = False) -> dict[Any, tuple[int, Any]]:
        """The live elements; reading is a use."""
        self.backend.current_key = encode_key(key)
        elements = self.current.get((kind, key), {})
        live = {name: (used, value) for name, (used, value) in elements.items() if used + TTL > self.now}
        if reads and self.reads_count:
            live = {name: (self.now, value) for name, (_, value) in live.items()}
        self.current[kind, key] = live
        return live

    def values_of(self, kind: str, key: str) -> list[Any]:
        return [value for _, value in self.at(kind, key, reads=True).values()]

    def set(self, kind: str, key: str, elements: dict[Any, Any]) -> None:
        self.current[kind, key] = {name: (self.now, value) for name, value in elements.items()}

    @rule(key=keys)
    def read_single(self, key: str) -> None:
        for kind, read in (("value", "value"), ("sum", "get"), ("aggregate", "get")):
            assert (self.values_of(kind, key) or [None]) == [getattr(self.states[kind], read)()]

    @rule(key=keys)
    def read_list(self, key: str) -> None:
        assert self.values_of("list", key) == self.states["list"].get()

    @rule(key=keys)
    def read_map(self, key: str) -> None:
        entries = self.at("map", key)
        assert self.states["map"].is_empty() == (not entries)
        expected = [(name, entries[name][1]) for name in sorted(entries, key=encode_key)]
        assert self.states["map"].items() == expected
        self.at("map", key, reads=True)
        assert self.states["map"].keys() == [name for name, _ in expected]

    @rule(key=keys, name=map_keys, only_ask=st.booleans())
    def read_entry(self, key: str, name: Any, only_ask: bool) -> None:
        entries = self.at("map", key)
        if only_ask:
            assert self.states["map"].contains(name) == (name in entries)
        else:
            assert self.states["map"].get(name) == entries.get(name, (0, None))[1]
        if self.reads_count and name in entries:
            entries[name] = (self.now, entries[name][1])

    @rule(key=keys, value=st.none() | numbers)
    def update(self, key: str, value: int | None) -> None:
        self.at("value", key)
        self.states["value"].update(value)
        self.set("value", key, {} if value is None else {0: value})

    @rule(key=keys, value=numbers)
    def combine(self, key: str, value: int) -> None:
        for kind in ("sum", "aggregate"):
            before = [each for _, each in self.at(kind, key).values()]
            self.states[kind].add(value)
            self.set(kind, key, {0: sum(before) + value})

    @rule(key=keys, values=st.lists(numbers, max_size=3))
    def add(self, key: str, values: list[int]) -> None:
        elements = self.at("list", key)
        self.states["list"].add_all(values)
        for value in values:
            self.number += 1
            elements[self.number] = (self.now, value)

    @rule(key=keys, values=st.lists(numbers, max_size=3))
    def replace(self, key: str, values: list[int]) -> None:
        self.at("list", key)
        self.states["list"].update(values)
        self.set("list", key, {self.number + place: value for place, value in enumerate(values)})
        self.number += len(values)

    @rule(key=keys, name=map_keys, value=st.none() | numbers)
    def put(self, key: str, name: Any, value: Any) -> None:
        entries = self.at("map", key)
        self.states["map"].put(name, value)
        entries[name] = (self.now, value)

    @rule(key=keys, name=map_keys)
    def remove(self, key: str, name: Any) -> None:
        entries = self.at("map", key)
        self.states["map"].remove(name)
        entries.pop(name, None)

    @rule(key=keys, kind=st.sampled_from(["value", "list", "map", "sum", "aggregate"]))
    def clear(self, key: str, kind: str) -> None:
        self.at(kind, key)
        self.states[kind].clear()
        self.current[kind, key] = {}

    @rule(passes=st.integers(0, TTL + 2), restart=st.booleans(), snapshot=st.booleans(), records=st.integers(0, 9))
    def end_epoch(self, passes: int, restart: bool, snapshot: bool, records: int) -> None:
        self.backend.count_records(records)
        self.backend.flush()
        if snapshot:
            self.backend.clean_up_before_snapshot()
            if self.cleanup in ("snapshot", "default", "eager"):
                self.assert_nothing_expired_is_stored()
        self.epoch += 1
        self.store.apply(self.store.changes(), str(self.epoch))
        self.store.discard_changes()
        self.committed = {where: dict(elements) for where, elements in self.current.items()}
        self.committed_at = self.now
        if restart:
            self.open()
        self.now += passes

    @rule(passes=st.integers(0, 3))
    def fail(self, passes: int) -> None:
        self.store.discard_changes()
        self.backend.drop_caches()
        self.current = {where: dict(elements) for where, elements in self.committed.items()}
        self.now += passes

    def assert_nothing_expired_is_stored(self) -> None:
        expected = {
            (kind, key)
            for (kind, key), elements in self.current.items()
            if any(used + TTL > self.now for used, _ in elements.values())
        }
        stored = {
            (kind, key)
            for kind, state in self.states.items()
            for key in "abc"
            if encode_key(key) in set(state.keys_in_store.stored_keys(self.store))
        }
        assert stored == expected

    @invariant()
    def to_ask_whether_a_map_is_empty_is_not_to_use_its_entries(self) -> None:
        for kind, key in list(self.current):
            if kind == "map":
                assert (not self.at(kind, key)) == self.states[kind].is_empty()


TestTtl = TtlModel.TestCase
TestTtl.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
