"""Snapshots that threads make beside epochs, and what becomes of those that are never completed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import fail_points
from penstock.common.errors import StateCorruptionError
from penstock.common.logs import configure_logging, logging_about
from penstock.state import background_snapshots, state_files
from penstock.state.background_snapshots import BackgroundSnapshots, InlineSnapshots
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.sorted_entries import SortedEntries
from penstock.state.state_file_format import read_header
from penstock.state.state_files import bring_to, write_delta
from penstock.state.storage import LocalCheckpointStorage
from services.python_process import run_python

SECONDS = 30


@pytest.fixture
def storage(tmp_path: Path) -> LocalCheckpointStorage:
    return LocalCheckpointStorage(str(tmp_path / "checkpoint"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbStore]:
    store = LmdbStore(tmp_path / "local")
    yield store
    store.close()


@pytest.fixture
def snapshots(tmp_path: Path) -> BackgroundSnapshots:
    return BackgroundSnapshots(tmp_path / "local")


@pytest.fixture(autouse=True)
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_files, "_MAX_CHAIN", 2)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Threads that make snapshots wait for it."""
    opened = threading.Event()

    def wait(name: str) -> None:
        if name == "snapshot.written" and threading.current_thread() is not threading.main_thread():
            assert opened.wait(SECONDS)

    fail_points.arm(wait)
    yield opened
    opened.set()
    until_threads_end()
    fail_points.arm(None)


def until_threads_end() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("penstock-snapshot"):
            thread.join(SECONDS)


def delta(storage: LocalCheckpointStorage, number: int, parent: str | None, base: Any = None) -> str:
    entries = SortedEntries.of_sorted([(b"key-%03d" % number, b"x")])
    return write_delta(storage, f"state/1/{number}-1-0", entries, parent, (1, number), base=base)


def chain(storage: LocalCheckpointStorage, count: int) -> str:
    head: str | None = None
    for number in range(1, count + 1):
        head = delta(storage, number, head)
    assert head is not None
    return head


def test_epochs_go_on_while_a_snapshot_is_made_and_a_later_one_takes_it_as_its_base(
    storage: LocalCheckpointStorage, store: LmdbStore, snapshots: BackgroundSnapshots, gate: threading.Event
) -> None:
    head = chain(storage, 3)
    bring_to(store, head, storage)
    snapshots.begin(store, storage, head, "state/1/4-1-0")
    assert snapshots.is_pending
    for number in range(4, 6):
        assert snapshots.take(storage, head, number) is None
        head = delta(storage, number, head)
        bring_to(store, head, storage)
        snapshots.begin(store, storage, head, f"state/1/{number + 1}-1-0")
    gate.set()
    until_threads_end()
    # Found in whatever process: all that is known is the directory.
    taken = BackgroundSnapshots(Path(store._directory)).take(storage, head, 6)
    assert taken is not None
    head = delta(storage, 6, head, taken)
    header = read_header(storage, head)
    assert (header.base, header.chain) == (taken.path, 3)
    assert "/4-1-0-snapshot-" in taken.path
    fresh = MemoryStore()
    bring_to(fresh, head, storage)
    assert [key for key, _ in fresh.scan(b"", b"\xff")] == [b"key-%03d" % n for n in range(1, 7)]
    assert snapshots.take(storage, head, 7) is None, "it is a base already"
    assert not snapshots.is_pending


def test_nothing_is_made_before_it_is_due_and_only_one_at_a_time(
    storage: LocalCheckpointStorage, store: LmdbStore, snapshots: BackgroundSnapshots, gate: threading.Event
) -> None:
    head = chain(storage, 2)
    bring_to(store, head, storage)
    snapshots.begin(store, storage, head, "state/1/3-1-0")
    assert not snapshots.is_pending
    head = delta(storage, 3, head)
    bring_to(store, head, storage)
    for _ in range(3):
        snapshots.begin(store, storage, head, "state/1/4-1-0")
        BackgroundSnapshots(Path(store._directory)).begin(store, storage, head, "state/1/4-1-0")
    assert sum(thread.name.startswith("penstock-snapshot") for thread in threading.enumerate()) == 1


def test_a_chain_that_grows_too_long_is_cut_at_once(
    storage: LocalCheckpointStorage, store: LmdbStore, snapshots: BackgroundSnapshots, gate: threading.Event
) -> None:
    head = chain(storage, 3)
    bring_to(store, head, storage)
    snapshots.begin(store, storage, head, "state/1/4-1-0")
    for number in range(4, 8):
        head = delta(storage, number, head, snapshots.take(storage, head, number))
        assert read_header(storage, head).base is None
        bring_to(store, head, storage)
        snapshots.begin(store, storage, head, f"state/1/{number + 1}-1-0")
    taken = snapshots.take(storage, head, 8)
    assert taken is not None
    assert read_header(storage, delta(storage, 8, head, taken)).chain == 1


@pytest.mark.parametrize("way", ["closed", "grown"])
def test_a_store_that_is_closed_or_grows_gives_its_snapshot_up(
    storage: LocalCheckpointStorage,
    store: LmdbStore,
    snapshots: BackgroundSnapshots,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.state.lmdb_view._ENTRIES_AT_ONCE", 1)
    monkeypatch.setattr("penstock.state.snapshots._ENTRIES_AT_ONCE", 1)
    monkeypatch.setattr("penstock.state.snapshots.PIECE_BYTES", 1)
    reached, may_go_on = threading.Event(), threading.Event()

    def stop(name: str) -> None:
        if name == "snapshot.piece":
            reached.set()
            assert may_go_on.wait(SECONDS)

    fail_points.arm(stop)
    try:
        head = chain(storage, 4)
        bring_to(store, head, storage)
        snapshots.begin(store, storage, head, "state/1/5-1-0")
        assert reached.wait(SECONDS)
        if way == "closed":
            store.close()
        else:
            store._open().grow()
        may_go_on.set()
        until_threads_end()
    finally:
        fail_points.arm(None)
    assert snapshots.take(storage, head, 5) is None
    assert not snapshots.is_pending, "another can be made"


def test_what_is_said_of_a_snapshot_that_is_given_up_names_the_job_and_the_operator(
    storage: LocalCheckpointStorage,
    store: LmdbStore,
    snapshots: BackgroundSnapshots,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise StateCorruptionError("damaged")

    monkeypatch.setattr(background_snapshots, "write_snapshot", fail)
    logger = logging.getLogger("penstock")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logger.level)
    monkeypatch.setattr(logger, "propagate", logger.propagate)
    configure_logging("info", "text")
    head = chain(storage, 3)
    bring_to(store, head, storage)
    with logging_about(job="payments", operator="count"):
        snapshots.begin(store, storage, head, "state/1/4-1-0")
    until_threads_end()
    assert "job=payments operator=count" in capsys.readouterr().err


KILLED = """
import sys
from pathlib import Path
from penstock.common import fail_points
from penstock.state import state_files
from penstock.state.background_snapshots import BackgroundSnapshots
from penstock.state.lmdb_store import LmdbStore
from penstock.state.state_files import bring_to
from penstock.state.storage import LocalCheckpointStorage
from services.python_process import run_python
import threading

state_files._MAX_CHAIN = 2
checkpoint, local, head = sys.argv[1:]
storage, store = LocalCheckpointStorage(checkpoint), LmdbStore(local)
bring_to(store, head, storage)
BackgroundSnapshots(Path(local)).begin(store, storage, head, "state/1/4-1-0")
threading.Event().wait(60)
"""


def test_the_death_of_the_process_leaves_nothing_that_is_in_the_way(
    storage: LocalCheckpointStorage, store: LmdbStore, snapshots: BackgroundSnapshots
) -> None:
    head = chain(storage, 3)
    environment = {"PENSTOCK_FAIL_POINTS": "snapshot.written@1=kill"}
    killed = run_python("-c", KILLED, storage.location, store._directory, head, more_environment=environment)
    assert killed.returncode == -9
    assert [path for path in storage.list("state/1") if "-snapshot-" in path], "it was meant to die after writing"
    bring_to(store, head, storage)
    assert snapshots.take(storage, head, 4) is None
    assert not snapshots.is_pending
    snapshots.begin(store, storage, head, "state/1/4-1-0")
    until_threads_end()
    assert snapshots.take(storage, head, 4) is not None


def test_one_that_comes_too_late_or_of_another_history_is_not_taken(
    storage: LocalCheckpointStorage, store: LmdbStore, snapshots: BackgroundSnapshots
) -> None:
    head = chain(storage, 3)
    bring_to(store, head, storage)
    snapshots.begin(store, storage, head, "state/1/4-1-0")
    until_threads_end()
    assert snapshots.take(storage, head, 4 + background_snapshots.LONGEST_WAIT) is not None
    assert snapshots.take(storage, head, 5 + background_snapshots.LONGEST_WAIT) is None
    assert not snapshots.is_pending
    snapshots.begin(store, storage, head, "state/1/4-1-0")
    until_threads_end()
    other = delta(storage, 9, read_header(storage, head).parent)
    assert snapshots.take(storage, other, 10) is None


def test_a_store_in_memory_makes_its_snapshot_at_once(storage: LocalCheckpointStorage) -> None:
    snapshots, store = InlineSnapshots(), MemoryStore()
    head = chain(storage, 3)
    bring_to(store, head, storage)
    snapshots.begin(store, storage, head, "state/1/4-1-0")
    assert snapshots.is_pending
    taken = snapshots.take(storage, head, 4)
    assert taken is not None
    assert taken.of == head
    assert not snapshots.is_pending
