from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.typeinfo import Types
from penstock.state import state_sizes
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.state.key_encoding import encode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.snapshots import snapshot_of
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_file_format import read_header
from penstock.state.state_files import bring_to, write_delta
from penstock.state.state_sizes import sizes_after, sizes_in, sizes_of_operators
from penstock.state.storage import LocalCheckpointStorage
from penstock.state.store import StateStore

keys = st.tuples(
    st.sampled_from([b"operator", b"\xff" * 7 + b"\xfe", b"another!"]), st.binary(min_size=1, max_size=3)
).map(b"".join)
epochs = st.lists(st.dictionaries(keys, st.none() | st.binary(max_size=3), max_size=8), max_size=8)


def committed(store: StateStore, changes: SortedEntries, tag: str) -> None:
    store.apply(changes, tag)
    store.discard_changes()


@given(epochs)
def test_sizes_follow_the_changes(history: list[dict[bytes, bytes | None]]) -> None:
    store, sizes, content = MemoryStore(), {}, {}
    for number, changed in enumerate(history):
        store.put_all(changed.items())
        changes = store.changes()
        sizes = sizes_after(sizes, changes, store)
        committed(store, changes, str(number))
        content = {key: value for key, value in (content | changed).items() if value is not None}
        expected: dict[str, list[int]] = {}
        for key, value in content.items():
            size = expected.setdefault(key[:8].hex(), [0, 0])
            size[0] += 1
            size[1] += len(key) + len(value)
        assert sizes == expected
        assert sizes_in(SortedEntries.of_changes(content)) == expected


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    return MemoryStore() if request.param == "memory" else LmdbStore(tmp_path / "store")


def test_committed_lengths_do_not_see_the_epoch_under_way(store: StateStore) -> None:
    long_key = b"k" * 1000
    store.put_all([(b"a", b"123"), (long_key, b"12"), (b"empty", b"")])
    committed(store, store.changes(), "1")
    store.put(b"a", b"x")
    store.delete(long_key)
    store.put(b"new", b"x")
    assert store.committed_lengths([b"a", long_key, b"empty", b"new"]) == [3, 2, 0, -1]
    assert store.get(b"a") == b"x"
    assert store.get(long_key) is None


def test_operators_are_known_by_their_uids(store: StateStore) -> None:
    for uid, names in (("sums", ("x", "y")), ("counts", ("x",))):
        backend = KeyedStateBackend(store, uid, 128)
        backend.current_key = encode_key("k")
        for name in names:
            backend.get_state(ValueStateDescriptor(name, Types.LONG())).update(1)
        backend.get_map_state(MapStateDescriptor("map")).put_all({"a": 1, "b": 2})
        backend.flush()
    sizes = sizes_of_operators(sizes_after({}, store.changes(), store), ["sums", "counts", "none"])
    assert {uid: entries for uid, (entries, _) in sizes.items()} == {"sums": 4, "counts": 3}
    assert sizes["sums"][1] > sizes["counts"][1] > 100


def test_many_changes_are_estimated_until_the_next_snapshot(tmp_path: Path) -> None:
    storage = LocalCheckpointStorage(str(tmp_path))
    store = MemoryStore()
    store.put_all((b"operator%05d" % n, b"x" * 10) for n in range(1000))
    changes = store.changes()
    sizes = sizes_after({}, changes, store)
    head = write_delta(storage, "state/1/1-1-0", changes, None, (1, 1), sizes)
    bring_to(store, head, storage)
    # Every second one of these is new.
    store.put_all((b"operator%05d" % n, b"y" * 20) for n in range(500, 1500))
    changes = store.changes()
    with patch.object(state_sizes, "_MOST_LOOKUPS", 100):
        estimated = sizes_after(read_header(storage, head).sizes, changes, store)
    exact = sizes_after(read_header(storage, head).sizes, changes, store)
    operator = b"operator".hex()
    assert exact == {operator: [1500, 500 * 23 + 1000 * 33]}
    assert estimated[operator] == pytest.approx(exact[operator], rel=0.05)
    head = write_delta(storage, "state/1/2-1-0", changes, head, (1, 2), {operator: [1, 1]})
    bring_to(store, head, storage)
    assert read_header(storage, snapshot_of(storage, store, head, "state/1/2-1-0").path).sizes == exact
