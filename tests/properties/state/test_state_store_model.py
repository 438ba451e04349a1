from __future__ import annotations

import shutil
import tempfile
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.store import StateStore

# Few different keys, so that they meet; some longer than LMDB takes, with common beginnings.
keys = st.one_of(
    st.binary(min_size=1, max_size=2).map(lambda b: bytes(x % 4 for x in b)),
    st.builds(lambda n, tail: b"\x01" * n + tail, st.sampled_from([479, 480, 481, 511, 512]), st.binary(max_size=2)),
)
values = st.binary(max_size=3)


class StoreModel(RuleBasedStateMachine):
    """Any store against two dicts."""

    store: StateStore

    def make(self) -> StateStore:
        raise NotImplementedError

    @initialize()
    def start(self) -> None:
        self.committed: dict[bytes, bytes] = {}
        self.current: dict[bytes, bytes] = {}
        self.changed: set[bytes] = set()
        self.tag: str | None = None
        self.epoch = 0
        self.store = self.make()

    @rule(key=keys, value=values)
    def put(self, key: bytes, value: bytes) -> None:
        self.store.put(key, value)
        self.current[key] = value
        self.changed.add(key)

    @rule(key=keys)
    def delete(self, key: bytes) -> None:
        self.store.delete(key)
        self.current.pop(key, None)
        self.changed.add(key)

    @rule(key=keys)
    def get(self, key: bytes) -> None:
        assert self.store.get(key) == self.current.get(key)

    @rule(start=st.binary(max_size=1) | keys, end=keys)
    def scan(self, start: bytes, end: bytes) -> None:
        expected = sorted((k, v) for k, v in self.current.items() if start <= k < end)
        assert list(self.store.scan(start, end)) == expected

    @rule()
    def end_epoch(self) -> None:
        changes = self.store.changes()
        assert changes == [(key, self.current.get(key)) for key in sorted(self.changed)]
        self.epoch += 1
        self.tag = f"t{self.epoch}"
        self.store.apply(changes, self.tag)
        self.store.discard_changes()
        self.committed = dict(self.current)
        self.changed = set()

    @rule()
    def fail_epoch(self) -> None:
        self.store.discard_changes()
        self.current = dict(self.committed)
        self.changed = set()

    @rule()
    def wipe(self) -> None:
        self.store.wipe()
        self.committed, self.current, self.changed, self.tag = {}, {}, set(), None

    @invariant()
    def has_its_tag(self) -> None:
        if hasattr(self, "store"):
            assert self.store.tag == self.tag

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


class MemoryModel(StoreModel):
    def make(self) -> StateStore:
        return MemoryStore()


class LmdbModel(StoreModel):
    def make(self) -> StateStore:
        self.directory = tempfile.mkdtemp()
        return LmdbStore(self.directory, map_size=1 << 16)

    @rule()
    def reopen(self) -> None:
        changes = self.store.changes()
        self.store.close()
        self.store = LmdbStore(self.directory, map_size=1 << 16)
        for key, value in changes:
            if value is None:
                self.store.delete(key)
            else:
                self.store.put(key, value)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory)


@pytest.mark.parametrize("model", [MemoryModel, LmdbModel])
def test_a_store_is_an_ordered_map_with_changes_on_top(model: Any) -> None:
    case = model.TestCase
    case.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
    case("runTest").runTest()
