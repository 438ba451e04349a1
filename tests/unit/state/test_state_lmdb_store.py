from __future__ import annotations

import logging
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import pytest

from penstock.common.errors import LocalStoreDamagedError, LocalStoreFullError, StateError
from penstock.state import lmdb_environment
from penstock.state.lmdb_store import LmdbStore
from penstock.state.store import StoreChangedError
from services.python_process import run_python

OpenStore = Callable[..., LmdbStore]


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    stores: list[LmdbStore] = []

    def open_it(map_size: int = 1 << 20) -> LmdbStore:
        stores.append(LmdbStore(tmp_path / "store", map_size=map_size))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def run(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    prelude = (
        "import os, signal, sys\nfrom penstock.state.lmdb_store import LmdbStore\nstore = LmdbStore(sys.argv[1])\n"
    )
    return run_python("-c", prelude + code, path)


def data_file(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "store").glob("*.mdb")
    return file


def test_another_process_sees_what_was_applied(open_store: OpenStore, tmp_path: Path) -> None:
    open_store().apply([(b"a", b"1")], "t1")
    result = run("print(store.tag, store.get(b'a'))", tmp_path / "store")
    assert result.stdout == "t1 b'1'\n", result.stderr


def test_reads_keep_to_the_state_whose_tag_was_read(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    store.apply([(b"a", b"1")], "t1")
    assert store.tag == "t1"
    assert run("store.tag; store.apply([(b'a', b'2')], 't2')", tmp_path / "store").returncode == 0
    assert store.get(b"a") == b"1"
    assert list(store.scan(b"", b"\xff")) == [(b"a", b"1")]
    with pytest.raises(StoreChangedError, match="it was at t1, it is at t2"):
        store.apply([], "t3")
    assert store.tag == "t2"
    assert store.get(b"a") == b"2"


def test_after_the_epoch_a_change_by_others_is_noticed(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    store.apply([(b"a", b"1")], "t1")
    store.changes()
    assert run("store.tag; store.apply([(b'a', b'2')], 't2')", tmp_path / "store").returncode == 0
    with pytest.raises(StoreChangedError):
        store.get(b"a")


def test_applying_what_another_attempt_has_applied_is_fine(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    store.apply([(b"a", b"1")], "t1")
    assert run("store.tag; store.apply([(b'a', b'2')], 't2')", tmp_path / "store").returncode == 0
    store.apply([(b"a", b"2")], "t2")
    assert store.get(b"a") == b"2"


def test_a_process_killed_in_a_transaction_leaves_the_state_before_it(open_store: OpenStore, tmp_path: Path) -> None:
    open_store().apply([(b"a", b"1")], "t1")
    killed = run(
        "store.tag\n"
        "store._write(lambda txn, env: [txn.put(b'%d' % n, b'x' * 100) for n in range(50_000)]"
        " and os.kill(os.getpid(), signal.SIGKILL))",
        tmp_path / "store",
    )
    assert killed.returncode == -signal.SIGKILL
    store = open_store()
    assert store.tag == "t1"
    assert list(store.scan(b"", b"\xff")) == [(b"a", b"1")]
    store.apply([(b"b", b"2")], "t2")
    assert store.get(b"b") == b"2"


def test_readers_that_were_killed_do_not_pin_old_data(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    store.apply([(b"%05d" % n, b"x" * 200) for n in range(1000)], "start")
    assert run("store.tag; os.kill(os.getpid(), signal.SIGKILL)", tmp_path / "store").returncode == -signal.SIGKILL
    for number in range(30):
        store.apply([(b"%05d" % n, bytes([number]) * 200) for n in range(1000)], f"t{number}")
    assert data_file(tmp_path).stat().st_size < 3_000_000


def test_the_file_does_not_grow_while_a_store_is_idle(open_store: OpenStore, tmp_path: Path) -> None:
    idle, store = open_store(), open_store()
    store.apply([(b"%05d" % n, b"x" * 200) for n in range(1000)], "start")
    assert idle.tag == "start"
    idle.changes()
    for number in range(30):
        store.apply([(b"%05d" % n, bytes([number]) * 200) for n in range(1000)], f"t{number}")
    assert data_file(tmp_path).stat().st_size < 3_000_000


def test_the_map_grows(open_store: OpenStore) -> None:
    store, other = open_store(), open_store()
    other.apply([(b"a", b"1")], "t0")
    assert other.get(b"a") == b"1"
    assert store.tag == "t0"
    store.apply([(b"%06d" % n, b"x" * 100) for n in range(30_000)], "t1")
    assert sum(1 for _ in store.scan(b"0", b"9")) == 30_000
    assert other.tag == "t1"
    assert other.get(b"029999") == b"x" * 100


def test_a_map_that_another_process_has_grown_is_adopted(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    assert store.tag is None
    store.changes()
    grow = "store.tag; store.apply([(b'%06d' % n, b'x' * 100) for n in range(30_000)], 't1')"
    assert run(grow, tmp_path / "store").returncode == 0
    assert store.tag == "t1"
    assert store.get(b"029999") == b"x" * 100
    store.apply([(b"z", b"1")], "t2")


def test_after_a_reboot_the_store_is_empty(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    store.apply([(b"a", b"1")], "t1")
    store.close()
    before = data_file(tmp_path)
    monkeypatch.setattr(lmdb_environment, "boot_id", lambda: "another-boot")
    store = open_store()
    assert store.tag is None
    assert store.get(b"a") is None
    assert not before.exists()
    assert sorted(p.name for p in (tmp_path / "store").iterdir()) == [
        "another-boot.mdb",
        "another-boot.mdb-lock",
        "opening.lock",
    ]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"this is no LMDB file at all, but it is longer than a page. " * 200,
        lambda data: data[:100],
        lambda data: data[: len(data) // 2],
        lambda data: data[:8192],
        lambda data: os.urandom(len(data)),
        lambda data: bytes(len(data)),
    ],
    ids=["foreign", "shorter than a page", "half", "header only", "random", "zeros"],
)
def test_a_damaged_or_foreign_file_is_replaced(
    open_store: OpenStore,
    tmp_path: Path,
    damage: Callable[[bytes], bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = open_store()
    store.apply([(b"%05d" % n, b"x" * 100) for n in range(2000)], "t1")
    store.close()
    file = data_file(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        store = open_store()
    assert "is damaged or foreign" in caplog.text
    assert store.tag is None
    assert list(store.scan(b"", b"\xff")) == []
    store.apply([(b"a", b"1")], "t2")
    assert store.get(b"a") == b"1"


def test_damage_that_a_read_meets_empties_the_store(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    store.apply([(b"%05d" % n, b"x" * 100) for n in range(2000)], "t1")
    store.close()
    with data_file(tmp_path).open("rb+") as file:
        file.seek(4096 * 4)
        file.write(bytes(4096 * 30))
    store = open_store()
    with pytest.raises(LocalStoreDamagedError, match="emptied and will be rebuilt"):
        [store.get(b"%05d" % n) for n in range(2000)]
    assert store.tag is None
    store.apply([(b"a", b"1")], "t2")
    assert store.get(b"a") == b"1"


def test_a_file_of_sane_length_is_not_taken_for_torn(open_store: OpenStore, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10):
        store = open_store()
        assert store.tag == (f"t{number - 1}" if number else None)
        store.apply([(os.urandom(20), os.urandom(5000)) for _ in range(50)], f"t{number}")
        entries = list(store.scan(b"", b"\xff" * 30))
        store.apply([(key, None) for key, _ in entries[::3]], f"t{number}")
        store.close()
    assert "damaged" not in caplog.text


def test_a_forked_child_is_refused_and_does_no_harm(open_store: OpenStore) -> None:
    store = open_store()
    store.apply([(b"a", b"1")], "t1")
    assert store.get(b"a") == b"1"
    child = os.fork()
    if child == 0:
        try:
            store.get(b"a")
            os._exit(3)
        except StateError as error:
            os._exit(0 if "was forked" in str(error) else 4)
    assert os.waitpid(child, 0)[1] == 0
    assert store.get(b"a") == b"1"
    store.apply([(b"b", b"2")], "t2")
    assert store.tag == "t2"
    assert store.get(b"b") == b"2"


@pytest.mark.parametrize(
    "error", [lmdb.DiskError("No space left on device"), lmdb.Error("mdb_txn_commit: Input/output error")]
)
def test_a_full_disk_is_a_sentence(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    store = open_store()
    store.apply([(b"a", b"1")], "t1")

    def full(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(store, "_apply", full)
    monkeypatch.setattr(lmdb_environment, "_NEEDED_FREE_BYTES", 1 << 62)
    with pytest.raises(LocalStoreFullError, match="is full"):
        store.apply([(b"b", b"2")], "t2")
    monkeypatch.undo()
    assert store.tag == "t1"
    store.apply([(b"b", b"2")], "t2")


def test_no_store_is_opened_on_a_disk_without_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_environment, "_NEEDED_FREE_BYTES", 1 << 62)
    with pytest.raises(LocalStoreFullError, match="is full"):
        LmdbStore(tmp_path / "store")


def test_a_map_that_cannot_grow_is_a_sentence(tmp_path: Path) -> None:
    code = (
        "import resource\n"
        "limit = int(open('/proc/self/statm').read().split()[0]) * 4096 + (1 << 30)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "try:\n"
        "    for _ in range(8): store._open().grow()\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    result = run(code, tmp_path / "store")
    assert result.stdout.startswith("LocalStoreFullError"), result
    assert "cannot grow" in result.stdout


def test_one_environment_per_process_closed_by_its_last_user(open_store: OpenStore, tmp_path: Path) -> None:
    first, second = open_store(), open_store()
    first.apply([(b"a", b"1")], "t1")
    first.close()
    assert second.tag == "t1"
    second.close()
    assert (tmp_path / "store").absolute() not in lmdb_environment._open_environments
    assert second.get(b"a") == b"1"
