from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.store import StateStore


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    store = MemoryStore() if request.param == "memory" else LmdbStore(tmp_path / "store", map_size=1 << 20)
    yield store
    store.close()


def test_reads_see_the_changes_of_the_epoch(store: StateStore) -> None:
    store.apply([(b"a", b"1"), (b"b", b"2")], "t1")
    store.put(b"a", b"10")
    store.put(b"c", b"")
    store.delete(b"b")
    assert [store.get(key) for key in (b"a", b"b", b"c", b"d")] == [b"10", None, b"", None]
    assert list(store.scan(b"", b"\xff")) == [(b"a", b"10"), (b"c", b"")]
    assert store.changes() == [(b"a", b"10"), (b"b", None), (b"c", b"")]
    assert store.tag == "t1"


def test_discarded_changes_are_gone(store: StateStore) -> None:
    store.apply([(b"a", b"1")], "t1")
    store.put(b"a", b"2")
    store.put(b"b", b"2")
    store.discard_changes()
    store.put(b"c", b"3")
    assert store.changes() == [(b"c", b"3")]
    assert list(store.scan(b"", b"\xff")) == [(b"a", b"1"), (b"c", b"3")]


def test_apply_sets_entries_and_tag(store: StateStore) -> None:
    assert store.tag is None
    store.apply([(b"a", b"1"), (b"b", b"2")], "t1")
    store.apply(iter([(b"a", None), (b"absent", None), (b"b", b"3")]), "t2")
    assert store.tag == "t2"
    assert list(store.scan(b"", b"\xff")) == [(b"b", b"3")]


def test_wipe_leaves_nothing(store: StateStore) -> None:
    store.apply([(b"a", b"1")], "t1")
    store.put(b"b", b"2")
    store.wipe()
    assert store.tag is None
    assert store.changes() == []
    assert list(store.scan(b"", b"\xff")) == []
    store.apply([(b"c", b"1")], "t2")
    assert store.get(b"c") == b"1"


def test_scan_includes_its_start_and_not_its_end(store: StateStore) -> None:
    store.apply([(bytes([n]), b"v") for n in range(0, 10, 2)], "t1")
    for n in range(1, 10, 2):
        store.put(bytes([n]), b"w")
    assert [key[0] for key, _ in store.scan(b"\x03", b"\x07")] == [3, 4, 5, 6]
    assert list(store.scan(b"\x07", b"\x03")) == []


def test_other_keys_may_change_during_a_scan(store: StateStore) -> None:
    store.apply([(b"a1", b"1"), (b"a2", b"2")], "t1")
    seen = []
    for key, _ in store.scan(b"a", b"b"):
        store.put(b"c" + key, b"x")
        seen.append(key)
    assert seen == [b"a1", b"a2"]


def test_keys_longer_than_lmdb_takes_keep_their_order(store: StateStore) -> None:
    prefix = b"p" * 470
    keys = sorted(
        [prefix + bytes([n]) * length for n in (0, 7, 255) for length in (1, 9, 10, 11, 50, 600)]
        + [prefix + b"x" * 100 + bytes([n]) for n in range(20)]
        + [b"q" * 511, b"q" * 512]
    )
    store.apply([(key, str(number).encode()) for number, key in enumerate(keys)], "t1")
    assert [store.get(key) for key in keys] == [str(number).encode() for number in range(len(keys))]
    assert [key for key, _ in store.scan(b"", b"\xff")] == keys
    for start, end in [(3, 9), (8, 30), (len(keys) - 2, len(keys) - 1)]:
        assert [key for key, _ in store.scan(keys[start], keys[end])] == keys[start:end]
    store.put(keys[4], b"changed")
    store.apply([(key, None) for key in keys[10:]], "t2")
    assert list(store.scan(b"", b"\xff"))[4] == (keys[4], b"changed")
    assert [key for key, _ in store.scan(b"", b"\xff")] == keys[:10]


def test_many_scans_between_changes(store: StateStore) -> None:
    for n in range(200):
        store.put(b"%03d" % (n * 37 % 200), b"%d" % n)
        if n % 7 == 0:
            assert len(list(store.scan(b"", b"\xff"))) == n + 1
    assert [key for key, _ in store.scan(b"050", b"053")] == [b"050", b"051", b"052"]
