"""A value that is changed in place changes no state, on either backend, in any kind of state."""

from __future__ import annotations

import copy
import datetime
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from penstock.common.row import Row
from penstock.common.time import Time
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.key_encoding import encode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.operator_state import OperatorStateBackend
from penstock.state.own_copy import own_copy
from penstock.state.store import StateStore
from penstock.state.ttl_config import StateTtlConfig


class Gathering:
    """An accumulator that is a list, handed out as it is."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator


KINDS: dict[str, tuple[StateDescriptor, Callable[[Any, Any], None], Callable[[Any], Any]]] = {
    "value": (ValueStateDescriptor("s"), lambda s, v: s.update(v), lambda s: s.value()),
    "list-add": (ListStateDescriptor("s"), lambda s, v: s.add(v), lambda s: s.get()[0]),
    "list-add-all": (ListStateDescriptor("s"), lambda s, v: s.add_all([v]), lambda s: s.get()[0]),
    "list-update": (ListStateDescriptor("s"), lambda s, v: s.update([v]), lambda s: s.get()[0]),
    "map": (MapStateDescriptor("s"), lambda s, v: s.put("k", v), lambda s: s.get("k")),
    "map-items": (MapStateDescriptor("s"), lambda s, v: s.put_all({"k": v}), lambda s: s.items()[0][1]),
    "map-values": (MapStateDescriptor("s"), lambda s, v: s.put("k", v), lambda s: s.values()[0]),
    "reducing": (ReducingStateDescriptor("s", lambda a, b: b), lambda s, v: s.add(v), lambda s: s.get()),
    "aggregating": (AggregatingStateDescriptor("s", Gathering()), lambda s, v: s.add(v), lambda s: s.get()[0]),
}


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    return MemoryStore() if request.param == "memory" else LmdbStore(tmp_path / "store")


@pytest.mark.parametrize("flushes", [False, True], ids=["within-an-epoch", "across-epochs"])
@pytest.mark.parametrize("ttl", [False, True], ids=["plain", "ttl"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_changed_in_place_changes_no_state(store: StateStore, kind: str, ttl: bool, flushes: bool) -> None:
    descriptor, write, read = KINDS[kind]
    descriptor = copy.copy(descriptor)
    if ttl:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())

    def opened() -> tuple[KeyedStateBackend, Any]:
        backend = KeyedStateBackend(store, "operator", 128, clock=lambda: 0)
        backend.current_key = encode_key("key")
        return backend, backend.get_partitioned_state(descriptor)

    def end_epoch() -> None:
        backend.flush()
        store.apply(store.changes(), str(len(tags)))
        store.discard_changes()
        tags.append(None)

    tags: list[None] = []
    backend, state = opened()
    given = {"n": 1, "nested": [1]}
    write(state, given)
    given["n"] = 2
    given["nested"].append(2)
    assert read(state) == {"n": 1, "nested": [1]}
    if flushes:
        end_epoch()
    read(state)["n"] = 3
    read(state)["nested"].append(3)
    assert read(state) == {"n": 1, "nested": [1]}
    end_epoch()
    assert read(state) == {"n": 1, "nested": [1]}
    backend, state = opened()
    assert read(state) == {"n": 1, "nested": [1]}
    changed = read(state)
    changed["n"] = 4
    assert read(state) == {"n": 1, "nested": [1]}


def test_a_fold_shares_no_object_with_its_results(store: StateStore) -> None:
    def add(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        a["n"] += b["n"]
        return a

    backend = KeyedStateBackend(store, "operator", 128)
    state = backend.get_state(ValueStateDescriptor("s"))
    key = encode_key("key")
    first = {"n": 1}
    results = state.fold([key] * 3, [first, {"n": 2}, {"n": 3}], add)
    assert results == [{"n": 1}, {"n": 3}, {"n": 6}]
    for result in (first, *results):
        result["n"] = 100
    assert state.fold([key], [{"n": 4}], add) == [{"n": 10}]


@pytest.mark.parametrize("mode", ["get_list_state", "get_union_list_state"])
def test_operator_state_keeps_copies(store: StateStore, mode: str) -> None:
    backend = OperatorStateBackend(store, "operator", BroadcastStateBackend(store, "operator"))
    state = getattr(backend, mode)(ListStateDescriptor("s"))
    given = [1]
    state.add(given)
    given.append(2)
    state.get()[0].append(3)
    assert state.get() == [[1]]


def test_broadcast_state_keeps_copies(store: StateStore) -> None:
    backend = BroadcastStateBackend(store, "operator")
    descriptor = MapStateDescriptor("s")
    rules = {"limit": [1]}
    backend.get_broadcast_state(descriptor).put("r", rules)
    rules["limit"].append(2)
    backend.get_read_only_state(descriptor).get("r")["limit"].append(3)
    assert backend.get_read_only_state(descriptor).get("r") == {"limit": [1]}


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


class Pair(NamedTuple):
    a: Any
    b: Any


class Color(Enum):
    RED = 1


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slotted) and self.a == other.a

    __hash__ = None


class Words(dict[str, int]):
    pass


class Half:
    """Pickled as something else than its attributes."""

    def __init__(self) -> None:
        self.kept, self.dropped = 1, 2

    def __getstate__(self) -> dict[str, int]:
        return {"kept": self.kept}


MUTABLE: list[Any] = [
    [], [1, 2], [[1]], {"a": 1}, {"a": {}}, {(1, 2): 3}, {1}, bytearray(b"x"), Row(a=1, b="x"), Row(1, [2]),
    Point(1), Point(1, ["a"]), Slotted(1), Words(a=1), defaultdict(list, a=[1]), OrderedDict(a=1), ([1],), Pair(1, [2]),
    np.arange(3),
]  # fmt: skip
IMMUTABLE: list[Any] = [
    None, 1, 2**70, 1.5, True, "x", b"x", 1j, (), (1, "a"), Pair(1, "a"), frozenset({1}), Color.RED, np.int64(3),
    datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(1),
]  # fmt: skip


@pytest.mark.parametrize("value", MUTABLE)
def test_what_can_change_is_copied(value: Any) -> None:
    copied = own_copy(value)
    assert type(copied) is type(value)
    assert np.array_equal(copied, value) if isinstance(value, np.ndarray) else copied == value
    assert copied is not value


@pytest.mark.parametrize("value", IMMUTABLE)
def test_what_cannot_change_is_not_copied(value: Any) -> None:
    assert own_copy(value) is value


def test_nothing_inside_is_shared() -> None:
    value = {"list": [1], "row": Row(a=[1]), "point": Point(1, ["a"])}
    copied = own_copy(value)
    value["list"].append(2)
    value["row"]["a"].append(2)
    value["point"].tags.append("b")
    assert copied == {"list": [1], "row": Row(a=[1]), "point": Point(1, ["a"])}


def test_a_copy_is_what_a_restart_would_give() -> None:
    assert vars(own_copy(Half())) == {"kept": 1}


def test_a_tuple_that_held_nothing_that_changes_is_copied_where_it_does_now() -> None:
    backend = KeyedStateBackend(MemoryStore(), "uid", 128)
    backend.current_key = encode_key("k")
    state = backend.get_state(ValueStateDescriptor("s"))
    state.update((1, "a"))
    assert state.value() is state.value()
    inner = [1]
    state.update((inner, "a"))
    inner.append(2)
    state.value()[0].append(3)
    assert state.value() == ([1], "a")
    backend.flush()
    backend.drop_caches()
    state.value()[0].append(4)
    assert state.value() == ([1], "a")
