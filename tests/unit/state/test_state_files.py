from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common.errors import StateCorruptionError, StateError
from penstock.state import snapshots, state_files
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.snapshots import snapshot_of, write_piece, write_state
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_file_format import read_header, read_state_file
from penstock.state.state_files import Snapshot, bring_to, can_be_base, live_files, should_snapshot, write_delta
from penstock.state.storage import LocalCheckpointStorage
from penstock.state.store import Entry, StateStore, StoreChangedError


@pytest.fixture
def storage(tmp_path: Path) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path / "checkpoint"))


@pytest.fixture(params=["memory", "lmdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    store = MemoryStore() if request.param == "memory" else LmdbStore(tmp_path / "store")
    yield store
    store.close()


def delta(
    storage: LocalCheckpointStorage, epoch: int, parent: str | None, *entries: Entry, base: Snapshot | None = None
) -> str:
    prefix = f"state/1/{epoch}-2-0"
    return write_delta(storage, prefix, SortedEntries.of_sorted(entries), parent, (1, epoch), base=base)


def chain(storage: LocalCheckpointStorage) -> list[str]:
    """Three states: {a: 1}, {a: 2, b: 2}, {b: 3}."""
    first = delta(storage, 1, None, (b"a", b"1"))
    second = delta(storage, 2, first, (b"a", b"2"), (b"b", b"2"))
    third = delta(storage, 3, second, (b"a", None), (b"b", b"3"))
    return [first, second, third]


STATES = [{b"a": b"1"}, {b"a": b"2", b"b": b"2"}, {b"b": b"3"}]


def content(store: StateStore) -> dict[bytes, bytes]:
    return dict(store.scan(b"", b"\xff"))


def test_a_file_gives_back_its_entries(storage: LocalCheckpointStorage) -> None:
    entries = [(b"", b""), (b"a", None), (b"b", b"x" * 1000), (b"c" * 700, b"")]
    path = delta(storage, 7, None, *entries)
    file = read_state_file(storage, path)
    assert file.entries == entries
    assert (file.header.kind, file.header.parent, file.header.incarnation, file.header.epoch) == ("delta", None, 1, 7)
    assert path.startswith("state/1/7-2-0-")


def test_the_format_does_not_change(storage: LocalCheckpointStorage) -> None:
    assert delta(storage, 1, None, (b"a", b"1"), (b"b", None)) == "state/1/1-2-0-58ebd151d389c8bafb9e9361c9ac1c46"


def test_the_same_changes_are_the_same_file(storage: LocalCheckpointStorage) -> None:
    assert chain(storage) == chain(storage)


@pytest.mark.parametrize("here", [None, 0, 1, 2])
@pytest.mark.parametrize("there", [None, 0, 1, 2])
def test_any_state_is_reached_from_any_other(
    storage: LocalCheckpointStorage, store: StateStore, here: int | None, there: int | None
) -> None:
    paths = chain(storage)
    for goal in (here, there):
        head = None if goal is None else paths[goal]
        store.put(b"uncommitted", b"x")
        bring_to(store, head, storage)
        assert store.tag == head
        assert content(store) == ({} if goal is None else STATES[goal])


def test_a_store_that_is_there_already_reads_no_file(storage: LocalCheckpointStorage, store: StateStore) -> None:
    paths = chain(storage)
    bring_to(store, paths[2], storage)
    for path in paths:
        storage.delete(path)
    assert storage.list("state/1") == []
    bring_to(store, paths[2], storage)
    assert content(store) == STATES[2]


def test_a_store_that_is_behind_reads_only_what_it_lacks(storage: LocalCheckpointStorage, store: StateStore) -> None:
    paths = chain(storage)
    bring_to(store, paths[1], storage)
    storage.delete(paths[0])
    storage.delete(paths[1])
    bring_to(store, paths[2], storage)
    assert content(store) == STATES[2]


def test_a_store_with_a_foreign_state_is_rebuilt(storage: LocalCheckpointStorage, store: StateStore) -> None:
    store.apply([(b"foreign", b"x")], "state/9/9-9-9-abc")
    bring_to(store, chain(storage)[1], storage)
    assert content(store) == STATES[1]


@pytest.mark.parametrize("piece_bytes", [1, 1 << 20], ids=["in pieces", "in one file"])
def test_a_snapshot_stands_for_its_state(
    storage: LocalCheckpointStorage, store: StateStore, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    monkeypatch.setattr(snapshots, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(snapshots, "_ENTRIES_AT_ONCE", 1)
    paths = chain(storage)
    bring_to(store, paths[1], storage)
    snapshot = snapshot_of(storage, store, paths[1], "state/1/3-2-0")
    pieces = read_header(storage, snapshot.path).pieces
    assert len(pieces) == (piece_bytes == 1)
    # Made beside two epochs: a third names it.
    fourth = delta(storage, 4, paths[2], (b"c", b"4"))
    after = delta(storage, 5, fourth, (b"d", b"5"), base=snapshot)
    last = delta(storage, 6, after, (b"e", b"6"))
    assert live_files(storage, [last]) == {last, after, fourth, paths[2], snapshot.path, *pieces}
    assert live_files(storage, [fourth, last]) == {*paths, fourth, after, last, snapshot.path, *pieces}
    for path in paths[:2]:
        storage.delete(path)
    fresh = MemoryStore()
    bring_to(fresh, last, storage)
    assert content(fresh) == STATES[2] | {b"c": b"4", b"d": b"5", b"e": b"6"}
    header = read_header(storage, last)
    assert (header.chain, header.snapshot_bytes) == (4, 4)
    assert header.delta_bytes == sum(storage.resolve(p).stat().st_size - fixed(storage, p) for p in (
        paths[2], fourth, after, last
    ))  # fmt: skip


def fixed(storage: LocalCheckpointStorage, path: str) -> int:
    data = storage.read(path)
    return 14 + int.from_bytes(data[10:14], "little")


def test_a_store_that_has_the_state_does_not_read_its_snapshot(
    storage: LocalCheckpointStorage, store: StateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = chain(storage)
    bring_to(store, paths[1], storage)
    snapshot = snapshot_of(storage, store, paths[1], "state/1/3-2-0")
    after = delta(storage, 4, paths[2], (b"c", b"4"), base=snapshot)
    read: list[str] = []
    real = state_files.read_state_file
    monkeypatch.setattr(state_files, "read_state_file", lambda s, path: read.append(path) or real(s, path))
    bring_to(store, after, storage)
    assert read == [paths[2], after]
    bring_to(store, paths[0], storage)
    read.clear()
    bring_to(store, after, storage)
    assert read == [snapshot.path, paths[2], after]
    assert content(store) == STATES[2] | {b"c": b"4"}


def test_a_snapshot_can_be_the_base_of_what_follows_its_state_until_there_is_another_base(
    storage: LocalCheckpointStorage,
) -> None:
    paths = chain(storage)
    made: list[Snapshot] = []
    for path in paths:
        store = MemoryStore()
        bring_to(store, path, storage)
        made.append(snapshot_of(storage, store, path, "state/1/3-2-0"))
    assert [can_be_base(storage, each, paths[1]) for each in made] == [True, True, False]
    after = delta(storage, 4, paths[2], base=made[1])
    assert [can_be_base(storage, each, after) for each in made] == [False, False, False]
    bring_to(store, after, storage)
    assert can_be_base(storage, snapshot_of(storage, store, after, "state/1/5-2-0"), delta(storage, 5, after))


def test_a_piece_is_no_state(storage: LocalCheckpointStorage, store: StateStore) -> None:
    piece = write_piece(storage, "state/1/1-2-0", SortedEntries.of_sorted([(b"a", b"1")]), (1, 1))
    with pytest.raises(StateCorruptionError, match=f"{piece}.* is a piece"):
        bring_to(store, piece, storage)
    state = write_state(storage, "state/1/1-2-0", [SortedEntries.of_sorted([(b"b", b"2")])], (1, 1), [piece])
    bring_to(store, state, storage)
    assert content(store) == {b"a": b"1", b"b": b"2"}
    storage.delete(piece)
    with pytest.raises(StateCorruptionError, match=piece):
        bring_to(MemoryStore(), state, storage)


@pytest.mark.parametrize("damaged", [0, 1, 2])
@pytest.mark.parametrize("kind", ["missing", "flipped at the end", "flipped in the header", "cut", "empty"])
def test_a_damaged_file_is_named(storage: LocalCheckpointStorage, store: StateStore, damaged: int, kind: str) -> None:
    paths = chain(storage)
    file = storage.resolve(paths[damaged])
    data = file.read_bytes()
    if kind == "missing":
        file.unlink()
    elif kind == "flipped at the end":
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif kind == "flipped in the header":
        at = data.index(b'"epoch":') + 8
        file.write_bytes(data[:at] + b"9" + data[at + 1 :])
    else:
        file.write_bytes(data[:-1] if kind == "cut" else b"")
    with pytest.raises(StateCorruptionError, match=paths[damaged]):
        bring_to(store, paths[2], storage)


def test_a_large_state_is_applied_in_parts(
    storage: LocalCheckpointStorage, store: StateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "_ENTRIES_PER_TRANSACTION", 3)
    tags: list[str] = []
    real = store.apply

    def apply(entries: Any, tag: str) -> None:
        tags.append(tag)
        real(entries, tag)

    monkeypatch.setattr(store, "apply", apply)
    path = delta(storage, 1, None, *((bytes([n]), b"x") for n in range(7)))
    bring_to(store, path, storage)
    assert tags == [f"{path}~0", f"{path}~1", path]
    assert len(content(store)) == 7


def test_a_rebuild_that_was_interrupted_starts_over(
    storage: LocalCheckpointStorage, store: StateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "_ENTRIES_PER_TRANSACTION", 3)
    path = delta(storage, 1, None, *((bytes([n]), b"x") for n in range(7)))
    store.apply([(b"\x63", b"left behind")], f"{path}~0")
    bring_to(store, path, storage)
    assert len(content(store)) == 7


def test_a_store_that_another_process_changes_meanwhile_is_brought_there_in_the_end(
    storage: LocalCheckpointStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = chain(storage)
    store, intruder = LmdbStore(tmp_path / "store"), LmdbStore(tmp_path / "store")
    real, intrusions = state_files.read_state_file, iter(["state/0/0-0-0-x", paths[0]])

    def read_while_others_write(storage: Any, path: str) -> Any:
        tag = next(intrusions, None)
        if tag is not None:
            intruder.wipe()
            intruder.apply([(b"intruder", b"x")] if tag != paths[0] else [(b"a", b"1")], tag)
        return real(storage, path)

    monkeypatch.setattr(state_files, "read_state_file", read_while_others_write)
    bring_to(store, paths[2], storage)
    assert content(store) == STATES[2]
    store.close()
    intruder.close()


def test_a_store_that_never_comes_to_rest_is_an_error(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()

    def changed(entries: Any, tag: str) -> None:
        raise StoreChangedError("changed")

    monkeypatch.setattr(store, "apply", changed)
    with pytest.raises(StateError, match="running twice"):
        bring_to(store, chain(storage)[0], storage)


def test_snapshots_are_due_by_bytes_and_by_length(
    storage: LocalCheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "_MIN_SNAPSHOT_BYTES", 1000)
    monkeypatch.setattr(state_files, "_MAX_CHAIN", 3)
    store = MemoryStore()
    small = delta(storage, 1, None, (b"a", b"x" * 500))
    large = delta(storage, 2, small, (b"a", b"y" * 500))
    assert [should_snapshot(read_header(storage, path)) for path in (small, large)] == [False, True]
    bring_to(store, large, storage)
    base = snapshot_of(storage, store, large, "state/1/2-2-0")
    head = delta(storage, 3, large, (b"a", b"z"), base=base)
    due = [should_snapshot(read_header(storage, head))]
    for epoch in range(4, 7):
        head = delta(storage, epoch, head, (b"a", b"z"))
        due.append(should_snapshot(read_header(storage, head)))
    assert due == [False, False, False, True]
    assert read_header(storage, head).chain == 4
    assert not should_snapshot(read_header(storage, head), times=3)


def test_live_files_are_all_that_heads_need(storage: LocalCheckpointStorage) -> None:
    paths = chain(storage)
    after = write_state(storage, "state/1/3-2-0", [SortedEntries.of_sorted([(b"c", b"4")])], (1, 3))
    assert live_files(storage, [paths[1]]) == set(paths[:2])
    assert live_files(storage, [after, paths[0]]) == {after, paths[0]}
    assert live_files(storage, []) == set()
    storage.delete(paths[0])
    with pytest.raises(StateCorruptionError, match=paths[0]):
        live_files(storage, [paths[1]])
